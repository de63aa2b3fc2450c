#!/usr/bin/env python3
"""Writes a chart's PNG with a palette of its most frequent colours: a third of the size, and the eye sees no difference.

    scripts/docs/palette.py docs/images/accuracy-*.png      # in place

Colours count in steps of 8 of each channel; the most frequent 64 make the palette, and every other takes the nearest of
these. The same picture gives the same bytes. Limits: 8 bits of red, green and blue, not interlaced, as rsvg-convert writes them; a
picture that has a palette is left as it is.
"""
import collections
import pathlib
import struct
import sys
import zlib

COLOURS, STEP = 64, 8


def chunks_of(data):
    place = 8
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        yield kind, data[place + 8:place + 8 + size]
        place += 12 + size


def unfiltered(raw, width, height):
    """The rows of the picture, three bytes for each pixel."""
    stride, above, rows = 3 * width, bytearray(3 * width), []
    for y in range(height):
        start = y * (stride + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + stride])
        for i in range(stride) if kind else ():
            left = row[i - 3] if i >= 3 else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = above[i]
            elif kind == 3:
                guess = (left + above[i]) // 2
            else:
                corner = above[i - 3] if i >= 3 else 0
                near = left + above[i] - corner
                guess = min((left, above[i], corner), key=lambda each, near=near: abs(near - each))
            row[i] = (row[i] + guess) & 255
        rows.append(row)
        above = row
    return rows


def with_palette(data):
    parts = list(chunks_of(data))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    if kind == 3:
        return data
    if (depth, kind, interlaced) != (8, 2, 0):
        raise ValueError("not 8 bits of red, green and blue")
    raw = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    rows = unfiltered(raw, width, height)
    colours = collections.Counter()
    for row in rows:
        colours.update(zip(row[0::3], row[1::3], row[2::3]))
    groups, best = collections.Counter(), {}
    for colour, count in colours.most_common():
        group = tuple(part // STEP for part in colour)
        groups[group] += count
        best.setdefault(group, colour)  # the most frequent of its group
    palette = [best[group] for group, _ in groups.most_common(COLOURS)]
    nearest = {colour: min(range(len(palette)), key=lambda i, c=colour: sum((a - b) ** 2 for a, b in zip(palette[i], c)))
               for colour in colours}
    body = b"".join(b"\0" + bytes(map(nearest.__getitem__, zip(row[0::3], row[1::3], row[2::3]))) for row in rows)

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    return (data[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", b"".join(map(bytes, palette))) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


def main():
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        data = path.read_bytes()
        made = with_palette(data)
        path.write_bytes(made)
        print(f"{path}: {len(data)} -> {len(made)} bytes")


main()

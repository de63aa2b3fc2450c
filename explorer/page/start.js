// The last part of the explorer's script.

globalThis.explorer = Object.assign(explorer, {engine});
begin();

// The last part of a chart page's script: draws what the page holds.

enliven(JSON.parse(document.getElementById('data').textContent), document);
document.documentElement.classList.add('ready');

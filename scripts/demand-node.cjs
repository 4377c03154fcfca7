'use strict';
/*
 * Ends the process with one sentence on a Node that is older than `engines` in package.json asks for. In the JavaScript of 2009, and
 * CommonJS: the rest of the scripts does not even parse on some of the versions that are refused. `npm start`, `npm test` and
 * `npm run build` preload this file (`node -r`); the set-up imports it for everybody else.
 */
var oldest = /\d+(\.\d+)*/.exec(require('../package.json').engines.node)[0];

/* Whether a version is at least another one; parts that are missing count as 0. */
function isAtLeast(version, wanted) {
  var left = version.split('.');
  var right = wanted.split('.');
  for (var at = 0; at < right.length; at += 1) {
    var difference = Number(left[at] || 0) - Number(right[at]);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

if (!isAtLeast(process.versions.node, oldest)) {
  var found = 'Baton needs Node ' + oldest + ' or newer; this is Node ' + process.versions.node + '. ';
  process.stderr.write(found + 'Install a newer one from https://nodejs.org. [NODE_TOO_OLD]\n');
  process.exit(1);
}

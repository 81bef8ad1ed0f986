/** A Node.js with nothing in it, after a full garbage collection. It lives until it is killed. */
process.on('message', () => {})
globalThis.gc?.()
process.send?.(process.memoryUsage().heapUsed)

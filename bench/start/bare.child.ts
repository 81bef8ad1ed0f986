/** A Node.js process without any code. It reports its heap after a full garbage collection and runs until killed. */
process.on('message', () => {})
globalThis.gc?.()
process.send?.(process.memoryUsage().heapUsed)

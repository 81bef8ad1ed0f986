/** Loaded before the system: on a signal it collects all garbage and tells on standard error what the heap holds. */
process.on('SIGUSR2', () => {
  // Twice, because what the first collection finalizes is freed by the second.
  globalThis.gc?.()
  globalThis.gc?.()
  process.stderr.write(`settled heap_bytes=${process.memoryUsage().heapUsed}\n`)
})

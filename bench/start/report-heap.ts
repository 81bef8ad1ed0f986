/** Imported into the system by the benchmark: on SIGUSR2 it collects all garbage and prints the heap size. */
process.on('SIGUSR2', () => {
  // Twice, because objects with finalizers are freed by the second collection only.
  globalThis.gc?.()
  globalThis.gc?.()
  process.stderr.write(`after_gc heap_bytes=${process.memoryUsage().heapUsed}\n`)
})

/** Below the time limit of a test, so that the message about the last value is printed. */
const LIMIT_MS = 100_000
const PAUSE_MS = 20

/** Looks again and again until what is seen is as wanted, and answers it; fails with the last sight after 20 s. */
export async function eventually<T>(
  look: () => Promise<T> | undefined,
  wanted: (seen: T | undefined) => boolean,
  limit_ms = LIMIT_MS,
): Promise<T> {
  const end_ms = performance.now() + limit_ms
  for (;;) {
    const seen = await look()
    if (wanted(seen)) return seen as T
    if (performance.now() > end_ms) throw new Error(`this did not come in time; last seen: ${show(seen)}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

function show(seen: unknown): string {
  return (
    JSON.stringify(seen, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ??
    'nothing'
  )
}

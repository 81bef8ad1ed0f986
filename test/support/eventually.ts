import { HANG_LIMIT_MS } from './hang-limit.ts'

const PAUSE_MS = 20

/** Reads a value repeatedly until it is as expected, and returns it. After the time limit it throws with the last value. */
export async function eventually<T>(
  read: () => Promise<T> | undefined,
  isExpected: (value: T | undefined) => boolean,
  limit_ms = HANG_LIMIT_MS,
): Promise<T> {
  const end_ms = performance.now() + limit_ms
  for (;;) {
    const value = await read()
    if (isExpected(value)) return value as T
    if (performance.now() > end_ms)
      throw new Error(`the expected value did not come within ${limit_ms} ms; last value: ${show(value)}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

function show(shown: unknown): string {
  return (
    JSON.stringify(shown, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ??
    'nothing'
  )
}

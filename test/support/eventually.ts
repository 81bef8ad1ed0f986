import { HANG_LIMIT_MS } from './hang-limit.ts'

/** A pause is an eighth of the wait so far: short waits end at once, and long ones leave the processor to what is awaited. */
const PAUSE = { first_ms: 2, max_ms: 100, part: 1 / 8 }

/** Reads a value repeatedly until it is as expected, and returns it. After the time limit it throws with the last value. */
export async function eventually<T>(
  read: () => Promise<T> | undefined,
  isExpected: (value: T | undefined) => boolean,
  limit_ms = HANG_LIMIT_MS,
): Promise<T> {
  const began_ms = performance.now()
  for (;;) {
    const value = await read()
    if (isExpected(value)) return value as T
    const waited_ms = performance.now() - began_ms
    if (waited_ms > limit_ms)
      throw new Error(`the expected value did not come within ${limit_ms} ms; last value: ${show(value)}`)
    const pause_ms = Math.min(Math.max(waited_ms * PAUSE.part, PAUSE.first_ms), PAUSE.max_ms)
    await new Promise((resolve) => setTimeout(resolve, pause_ms))
  }
}

/** Waits until the clock shows a later millisecond: before something that a test orders or selects by its time. */
export async function nextMillisecond(): Promise<void> {
  const began_ms = Date.now()
  await eventually(
    async () => Date.now(),
    (now_ms = began_ms) => now_ms > began_ms,
  )
}

function show(shown: unknown): string {
  return (
    JSON.stringify(shown, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ??
    'nothing'
  )
}

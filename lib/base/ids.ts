import { randomBytes } from './crypto/random.ts'
import { processState } from './process-state.ts'
import { clock } from './time.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Whether a text is a UUID in its canonical form: lower case with dashes. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** The time and the counter of the newest UUID of this process. */
const newest = processState(() => ({ last_ms: 0, sequence: 0 }))

/**
 * A UUIDv7. The first 48 bits are the wall time in milliseconds and the next 12 a counter, so the ids of one process
 * sort in the order of their creation, also when the clock steps back. The other 62 bits are random.
 */
export function uuidv7(): string {
  const now_ms = Math.floor(clock.now_ms())
  const bytes = randomBytes(10)
  const state = newest()
  if (now_ms > state.last_ms) {
    state.last_ms = now_ms
    state.sequence = ((bytes[0] as number) << 2) | ((bytes[1] as number) >> 6)
  } else if (state.sequence < 0xfff) {
    state.sequence += 1
  } else {
    state.last_ms += 1
    state.sequence = 0
  }
  bytes[2] = ((bytes[2] as number) & 0x3f) | 0x80
  const random = bytes.toString('hex', 2)
  return `${timeText(state.last_ms)}-${(0x7000 | state.sequence).toString(16)}-${random.slice(0, 4)}-${random.slice(4)}`
}

/** The time in a UUIDv7, in milliseconds since 1970. It can differ from the clock: ids go on in order when the clock steps back. */
export function timeOfUuid(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

let text_of_ms = Number.NaN
let text = ''

/** The first 12 digits. The text of the present millisecond is kept, because many ids share it. */
function timeText(time_ms: number): string {
  if (time_ms !== text_of_ms) {
    const digits = time_ms.toString(16).padStart(12, '0')
    text = `${digits.slice(0, 8)}-${digits.slice(8)}`
    text_of_ms = time_ms
  }
  return text
}

/** 2020-01-01T00:00:00Z in seconds: the 18-digit ids count from here. */
const NUMERIC_EPOCH_S = 1_577_836_800

/**
 * Creates a generator of 18-digit, time-ordered ids (P1): 10 digits of seconds, 4 of an instance number, 4 of a counter.
 * They are unique by construction, because no two live processes lease the same instance number. A counter that runs
 * out continues in the next second. A restart under the same instance number must wait for one second.
 */
export function numericIds(instance: number): () => string {
  if (!Number.isInteger(instance) || instance < 0 || instance > 9999)
    throw new TypeError('instance must be 0 to 9999')
  let second = 0
  let counter = 0
  return () => {
    const now_s = Math.floor(clock.now_ms() / 1000) - NUMERIC_EPOCH_S
    if (now_s > second) {
      second = now_s
      counter = 0
    } else if (counter < 9999) {
      counter += 1
    } else {
      second += 1
      counter = 0
    }
    const digits = (value: number, width: number): string => value.toString().padStart(width, '0')
    return `1${digits(second, 9)}${digits(instance, 4)}${digits(counter, 4)}`
  }
}

/** Events to publish. The receivers get them in turn. */
export interface EventLoad {
  readonly events: number
  /** How many events are published at once. */
  readonly in_flight: number
  /** The largest rate; without it the next event follows at once. */
  readonly events_per_second?: number
  /** Unless false, the load lasts until the result of each delivery is recorded. */
  readonly wait_for_results?: boolean
  /** The receivers of successive events, again and again, by their numbers. All in turn unless given. */
  readonly receivers?: readonly number[]
  /** The receiver whose callbacks are timed. All are unless given. */
  readonly timed_receiver?: number
}

/**
 * The time limit of an attempt at an endpoint. In it, one silent receiver of ten gets so many events (20) that all of them use
 * up the slots which unproven receivers of a host have, as with the default of 30 s.
 */
export const ATTEMPT_SECONDS = 10

/** Ends a sender: it deletes its data, and replies before it exits. */
export const STOP = { stop: true }

/** What a sender used until the success of each delivery was recorded. */
export interface SendReport {
  readonly elapsed_ms: number
  readonly cpu_ms: number
}

/** Measures the time and the processor time of this process that `work` takes. */
export async function measureUse(work: () => Promise<void>): Promise<SendReport> {
  const began_ms = performance.now()
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return { elapsed_ms: performance.now() - began_ms, cpu_ms: (user + system) / 1_000 }
}

/** The variable with the URLs of the receivers, as a JSON array. */
export const RECEIVERS_VARIABLE = 'BENCH_RECEIVERS'
/** Reads the variable, and returns the function that gives the receiver of a number. */
export function receiverUrls(): (receiver: number) => URL {
  const urls = (JSON.parse(process.env[RECEIVERS_VARIABLE] ?? '[]') as string[]).map((url) => new URL(url))
  return (receiver) => {
    const url = urls[receiver % urls.length]
    if (url === undefined) throw new Error(`${RECEIVERS_VARIABLE} names no receiver`)
    return url
  }
}

/** The variable with the directory of the data, if it is kept. */
export const DIRECTORY_VARIABLE = 'BENCH_DIRECTORY'

/** The variable that is set when all events are of one merchant, and each goes to a URL of its own. */
export const ONE_MERCHANT_VARIABLE = 'BENCH_ONE_MERCHANT'

/** Calls `act` with each number from 0 and its receiver, within the limits of the load. */
export async function runLoad(
  { events, in_flight, events_per_second, receivers = [] }: EventLoad,
  act: (number: number, receiver: number) => Promise<void>,
): Promise<void> {
  const began_ms = performance.now()
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < events) {
      const number = next
      next += 1
      if (events_per_second !== undefined) {
        const wait_ms = began_ms + (number * 1_000) / events_per_second - performance.now()
        if (wait_ms > 0) await new Promise((resolve) => setTimeout(resolve, wait_ms))
      }
      await act(number, receivers[number % receivers.length] ?? number)
    }
  }
  await Promise.all(Array.from({ length: in_flight }, worker))
}

/** The `c_id` of an event: the time at which it is published if its callback is timed, and its number. */
export function newReference(number: number, is_timed = true): string {
  return `${is_timed ? process.hrtime.bigint() : 'untimed'}-${number}`
}

import { backoffDelay } from '#lib/base/backoff.ts'
import { randomFraction } from '#lib/base/crypto/random.ts'
import { sleep } from '#lib/base/time.ts'
import { CommandError, type Terminal } from '../terminal.ts'

/** Pauses between tries to reach the back office again. */
const BACKOFF = { first_ms: 250, max_ms: 5_000 }

/**
 * Follows a stream that goes on by a cursor: it is opened again when it ends or breaks, for as long as the command runs, and what was sent
 * meanwhile comes first. Throws a refusal, and what the first try to reach the server throws.
 *
 * @param open opens the stream after a cursor; it is empty at the first time unless an earlier run left one
 */
export async function* followStream<M extends { readonly cursor: string }>(
  open: (cursor: string) => AsyncIterable<M>,
  { stderr }: Pick<Terminal, 'stderr'>,
  first_cursor = '',
): AsyncGenerator<M> {
  let cursor = first_cursor
  let failures = 0
  let was_open = false
  for (;;) {
    try {
      for await (const message of open(cursor)) {
        if (failures > 0) stderr.write('connected again\n')
        failures = 0
        was_open = true
        yield message
        if (message.cursor !== '') cursor = message.cursor
      }
      await sleep(BACKOFF.first_ms)
    } catch (error) {
      const can_come_back = error instanceof CommandError && error.exit_code === 3 && was_open
      if (!can_come_back) throw error
      if (failures === 0) stderr.write(`${error.message}; trying again\n`)
      failures += 1
      await sleep(backoffDelay(failures, BACKOFF, randomFraction()))
    }
  }
}

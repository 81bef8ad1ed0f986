import { nextTurn } from '#lib/base/time.ts'
import type { LookupResult } from '../domain/call-result.ts'
import type { Connector, OperationName, ProviderCalls } from './connector.ts'

interface Waiting {
  readonly operation: OperationName
  readonly resolve: (result: LookupResult) => void
  readonly reject: (error: unknown) => void
}

/** Lookups with one time limit and one signal, which can be one request. */
interface Group {
  readonly timeout_ms: number
  readonly signal: AbortSignal | undefined
  readonly waiting: Waiting[]
}

/**
 * Makes a lookup of one operation from one of up to `lookups_max` operations. The lookups that begin in one turn of the
 * event loop, such as the polls of one sweep, become one request.
 */
export function gatherLookups(
  { lookUp }: Pick<ProviderCalls, 'lookUp'>,
  lookups_max: number,
): Connector['lookUp'] {
  let open_groups: Group[] = []

  // Never rejects, also when a connector throws: the next group must be sent, and each lookup get its failure.
  const send = async ({ timeout_ms, signal, waiting }: Group): Promise<void> => {
    const operations = waiting.map(({ operation }) => operation)
    try {
      const results = await lookUp(operations, timeout_ms, signal)
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const result = results[index]
        if (result === undefined) reject(new TypeError('a connector left out the result of a lookup'))
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
  const sendAll = (): void => {
    const groups = open_groups
    open_groups = []
    for (const group of groups) void send(group)
  }
  return (operation, timeout_ms, signal) =>
    new Promise((resolve, reject) => {
      const waiting: Waiting = { operation, resolve, reject }
      if (lookups_max === 1) return void send({ timeout_ms, signal, waiting: [waiting] })
      const group = open_groups.find(
        (open) =>
          open.timeout_ms === timeout_ms && open.signal === signal && open.waiting.length < lookups_max,
      )
      if (group) return void group.waiting.push(waiting)
      if (open_groups.length === 0) nextTurn(sendAll)
      open_groups.push({ timeout_ms, signal, waiting: [waiting] })
    })
}

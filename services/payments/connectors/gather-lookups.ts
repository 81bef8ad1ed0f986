import { createGatherer } from '#lib/base/gather.ts'
import type { LookupResult } from '../domain/call-result.ts'
import type { Connector, OperationName, ProviderCalls } from './connector.ts'

/** Lookups with one time limit and one signal can be one request. */
interface Lookup {
  readonly operation: OperationName
  readonly timeout_ms: number
  readonly signal: AbortSignal | undefined
}

const LEFT_OUT = 'a connector left out the result of a lookup'

/**
 * Makes a lookup of one operation from one of up to `lookups_max` operations. The lookups that begin in one turn of the
 * event loop, such as the polls of one sweep, become one request.
 */
export function gatherLookups(
  { lookUp }: Pick<ProviderCalls, 'lookUp'>,
  lookups_max: number,
): Connector['lookUp'] {
  if (lookups_max === 1)
    return async (operation, timeout_ms, signal) => {
      const [result] = await lookUp([operation], timeout_ms, signal)
      if (result === undefined) throw new TypeError(LEFT_OUT)
      return result
    }
  const lookUpOne = createGatherer<Lookup, LookupResult>({
    fits: (batch, { timeout_ms, signal }) =>
      batch[0]?.timeout_ms === timeout_ms && batch[0].signal === signal && batch.length < lookups_max,
    async send(lookups) {
      const operations = lookups.map(({ operation }) => operation)
      const [{ timeout_ms, signal } = { timeout_ms: 0, signal: undefined }] = lookups
      const results = await lookUp(operations, timeout_ms, signal)
      // A hole is a result that the connector left out: it fails its own lookup.
      return operations.map((_, index) => {
        const value = results[index]
        return value === undefined ? { error: new TypeError(LEFT_OUT) } : { value }
      })
    },
  })
  return (operation, timeout_ms, signal) => lookUpOne({ operation, timeout_ms, signal })
}

import { type Client, createClient, createRouterTransport } from '@connectrpc/connect'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerService, type PlaceHoldRequest } from '#gen/multihub/balances/v1/ledger_service_pb.ts'
import type { LedgerClient } from './post-to-ledger.ts'

/** A ledger whose decisions about holds a test makes. */
export interface ScriptedLedger {
  readonly client: LedgerClient
  /** The holds that were asked for, repetitions included. */
  readonly holds: readonly PlaceHoldRequest[]
}

/** The balances of a merchant that has this amount in INR. */
export function scriptedBalances(available: bigint): Client<typeof BalanceService> {
  const transport = createRouterTransport(({ service }) =>
    service(BalanceService, { getBalances: () => ({ balances: [{ currency: 'INR', available }] }) }),
  )
  return createClient(BalanceService, transport)
}

/** Makes a ledger that answers each hold with the refusal code of `decide`; 0 admits it. An exception loses the answer. */
export function scriptedLedger(
  decide: (request: PlaceHoldRequest) => number | Promise<number> = () => 0,
): ScriptedLedger {
  const holds: PlaceHoldRequest[] = []
  const transport = createRouterTransport(({ service }) =>
    service(LedgerService, {
      async placeHold(request) {
        holds.push(request)
        return { entry: { entryId: request.holdId, refusedCode: await decide(request) } }
      },
    }),
  )
  return { client: createClient(LedgerService, transport), holds }
}

import type { Client } from '@connectrpc/connect'
import type { LedgerService } from '#gen/multihub/balances/v1/ledger_service_pb.ts'

/** The ledger, as effects call it. It gives each id one result permanently, so a repeated call moves nothing. */
export type LedgerClient = Client<typeof LedgerService>

/** The time limit of one call. */
export const LEDGER_CALL = { timeoutMs: 3_000 }

/**
 * The limits of an effect that calls the ledger. With pauses of 2.5 min on average, the ledger may be unavailable for
 * half a day before the effect is stuck.
 */
export const LEDGER_EFFECT_LIMITS = { lease_ms: 5_000, tries_max: 300 }

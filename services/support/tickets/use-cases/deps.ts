import type { Client } from '@connectrpc/connect'
import type { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import type { Keyring } from '#lib/base/crypto/keyring.ts'
import type { EffectRunner } from '#lib/patterns/effects/runner.ts'
import type { Idempotency } from '#lib/patterns/idempotency/idempotency.ts'
import type { Collection } from '#lib/store/store.ts'
import type { AttachmentClaims } from '../../use-cases/claim-attachments.ts'
import type { Comment } from '../domain/comment.ts'
import type { Ticket } from '../domain/ticket.ts'

/** What the use cases of tickets need. */
export interface TicketDeps {
  readonly tickets: Collection<Ticket>
  readonly comments: Collection<Comment>
  /** Writes tickets and runs their effects. */
  readonly runner: EffectRunner<Ticket>
  readonly idempotency: Idempotency
  readonly payments: Pick<Client<typeof PaymentService>, 'findPayment'>
  readonly attachments: AttachmentClaims
  /** Signs the cursors of merchants' lists (S6). */
  readonly keyring: Keyring
}

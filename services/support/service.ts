import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { busLimitations } from '#lib/bus/authentication.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner } from '#lib/patterns/effects/runner.ts'
import { createErasureLog, ERASURES_FILE_SETTING, PERSON_RETENTION_SETTING } from '#lib/patterns/erasures.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { openPublisher, PUBLISHER_SETTINGS } from '#lib/role/open-publisher.ts'
import type { Role, RoleContext } from '#lib/role/role.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { Chargeback } from './chargebacks/domain/chargeback.ts'
import { bindReturnAmount } from './chargebacks/effects/return-amount.ts'
import { createChargebackRpc } from './chargebacks/rpc/chargeback-service.ts'
import { createMerchantChargebackRpc } from './chargebacks/rpc/merchant-chargeback-service.ts'
import { CHARGEBACKS, keyOfChargeback } from './chargebacks/store/chargebacks.ts'
import { isUsedByChargeback } from './chargebacks/use-cases/change-chargeback.ts'
import { getChargeback } from './chargebacks/use-cases/find-chargeback.ts'
import { bindStoreComment } from './comments/effects/store-comment.ts'
import type { Refund } from './refunds/domain/refund.ts'
import { createMerchantRefundRpc } from './refunds/rpc/merchant-refund-service.ts'
import { createRefundRpc } from './refunds/rpc/refund-service.ts'
import { keyOfRefund, REFUNDS } from './refunds/store/refunds.ts'
import { getRefund } from './refunds/use-cases/find-refund.ts'
import { createAttachmentUseRpc } from './rpc/attachment-use-service.ts'
import { createEffectRpc } from './rpc/effect-service.ts'
import { openSupportStore, type SupportStore } from './store/support-store.ts'
import type { Ticket } from './tickets/domain/ticket.ts'
import { bindEraseThread } from './tickets/effects/erase-thread.ts'
import { createMerchantTicketRpc } from './tickets/rpc/merchant-ticket-service.ts'
import { createTicketErasureRpc } from './tickets/rpc/ticket-erasure-service.ts'
import { createTicketRpc } from './tickets/rpc/ticket-service.ts'
import { findTicketById, keyOfTicket, TICKETS } from './tickets/store/tickets.ts'
import { startRetentionWalk } from './tickets/use-cases/erase-person.ts'
import { isUsedByComment, isUsedByTicket } from './tickets/use-cases/use-files.ts'
import type { FileUsers } from './use-cases/attachment-use.ts'
import { type StuckDocumentsDeps, stuckDocuments } from './use-cases/stuck-effects.ts'

/** The settings of the support service. */
export const SUPPORT_CONFIG = {
  ...PUBLISHER_SETTINGS,
  erasures_file: ERASURES_FILE_SETTING,
  retention_ms: PERSON_RETENTION_SETTING,
}

/** The support service: tickets, refunds and chargebacks. */
export const role: Role<'support'> = {
  name: 'support',
  settings: SUPPORT_CONFIG,
  async start(context) {
    const config = readConfig(SUPPORT_CONFIG, context.variables)
    const store = await openSupportStore(await context.openStore())
    const { tickets, ticket_comments, refunds, refund_comments, chargebacks } = store
    const payment_refunds = context.clientOf(PaymentRefundService)
    const publisher = await openPublisher(context, context.keys.event_support)
    const publish = publishEventHandler(publisher)
    const shared = {
      idempotency: createIdempotency(store.idempotency_records, context.clock_guard),
      attachments: context.clientOf(AttachmentService),
      keys: context.keys,
    }
    const ticket_effects = createTicketEffects(context, store, [
      bindEraseThread({ comments: ticket_comments, attachments: shared.attachments }),
      publishEventEffect.bind<Ticket>(publish),
    ])
    const refund_effects = createEffects<Refund>(context, REFUNDS, {
      collection: refunds,
      effects: [bindStoreComment<Refund>(refund_comments), publishEventEffect.bind<Refund>(publish)],
      keyOf: keyOfRefund,
      idOf: ({ refund_id }) => refund_id,
      get: (id) => getRefund(refunds, id),
    })
    const chargeback_effects = createEffects<Chargeback>(context, CHARGEBACKS, {
      collection: chargebacks,
      effects: [bindReturnAmount(payment_refunds), publishEventEffect.bind<Chargeback>(publish)],
      keyOf: keyOfChargeback,
      idOf: ({ chargeback_id }) => chargeback_id,
      get: (id) => getChargeback(chargebacks, id),
    })
    const ticket_deps = {
      ...shared,
      tickets,
      comments: ticket_comments,
      runner: ticket_effects.runner,
      payments: context.clientOf(PaymentService),
      clock_guard: context.clock_guard,
      erasures: createErasureLog(config.erasures_file, context.keys.search),
    }
    const retention_walk = startRetentionWalk(ticket_deps, config.retention_ms)
    const refund_deps = {
      ...shared,
      refunds,
      comments: refund_comments,
      runner: refund_effects.runner,
      payments: payment_refunds,
    }
    const chargeback_deps = {
      ...shared,
      chargebacks,
      runner: chargeback_effects.runner,
      payments: payment_refunds,
    }
    const all_effects = [ticket_effects, refund_effects, chargeback_effects]
    return {
      services: [
        createMerchantTicketRpc(ticket_deps),
        createTicketRpc(ticket_deps),
        createTicketErasureRpc(ticket_deps),
        createMerchantRefundRpc(refund_deps),
        createRefundRpc(refund_deps),
        createMerchantChargebackRpc(chargeback_deps),
        createChargebackRpc(chargeback_deps),
        createAttachmentUseRpc(fileUsers(store)),
        createEffectRpc(new Map(all_effects.map(({ name, stuck }) => [name, stuck]))),
      ],
      async open() {
        for (const { runner } of all_effects) runner.start()
        return {}
      },
      limitations: () => busLimitations(config.bus_auth),
      async stop() {
        await retention_walk.stop()
        for (const { runner } of all_effects) await runner.stop()
        await publisher.close()
      },
    }
  },
}

function createTicketEffects(
  context: RoleContext<'support'>,
  { tickets, ticket_comments }: SupportStore,
  others: readonly BoundEffect<Ticket>[],
) {
  return createEffects<Ticket>(context, TICKETS, {
    collection: tickets,
    effects: [bindStoreComment<Ticket>(ticket_comments), ...others],
    keyOf: keyOfTicket,
    idOf: ({ ticket_id }) => ticket_id,
    async get(id) {
      const ticket = await findTicketById(tickets, id)
      if (!ticket) throw new PublicError(10001)
      return ticket
    },
  })
}

/** The resources that have files, each asked by the part that it belongs to (F7). */
export function fileUsers({ tickets, ticket_comments, chargebacks }: SupportStore): FileUsers {
  return {
    ticket: (use, id) => isUsedByTicket({ tickets }, use, id),
    comment: (use, id) => isUsedByComment({ tickets, comments: ticket_comments }, use, id),
    chargeback: (use, id) => isUsedByChargeback(chargebacks, use, id),
  }
}

/** Makes the runner of the effects of one kind of resource, and the operator's retry of its stuck effects. */
function createEffects<D extends EffectDocument & MerchantScope>(
  { clock_guard }: Pick<RoleContext, 'clock_guard'>,
  { name, key }: CollectionSpec,
  documents: Omit<StuckDocumentsDeps<D>, 'runner' | 'key_fields'> & {
    readonly effects: readonly BoundEffect<D>[]
  },
) {
  const runner = createEffectRunner<D>({ ...documents, name, clock_guard })
  return { name, runner, stuck: stuckDocuments<D>({ ...documents, runner, key_fields: key }) }
}

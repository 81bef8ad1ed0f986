import type { Client } from '@connectrpc/connect'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { type Config, readConfig } from '#lib/base/config/config.ts'
import { busLimitations } from '#lib/bus/authentication.ts'
import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { MerchantScope } from '#lib/contract/merchant-scope.ts'
import type { BoundEffect } from '#lib/patterns/effects/define-effect.ts'
import type { EffectDocument } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { publishEventHandler } from '#lib/patterns/effects/publisher.ts'
import { createEffectRunner, type EffectRunner } from '#lib/patterns/effects/runner.ts'
import { type Runs, startRuns } from '#lib/patterns/effects/runs.ts'
import { createErasureLog, ERASURES_FILE_SETTING, PERSON_RETENTION_SETTING } from '#lib/patterns/erasures.ts'
import { createIdempotency } from '#lib/patterns/idempotency/idempotency.ts'
import { TEST_RETENTION_SETTING, type TestRetention } from '#lib/patterns/test-retention.ts'
import { openPublisher, PUBLISHER_SETTINGS } from '#lib/role/open-publisher.ts'
import type { Role, RoleContext } from '#lib/role/role.ts'
import { keepActs } from '#lib/store/kept-acts.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import type { Chargeback } from './chargebacks/domain/chargeback.ts'
import { bindReturnAmount } from './chargebacks/effects/return-amount.ts'
import { createChargebackRpc } from './chargebacks/rpc/chargeback-service.ts'
import { createMerchantChargebackRpc } from './chargebacks/rpc/merchant-chargeback-service.ts'
import { CHARGEBACKS, keyOfChargeback } from './chargebacks/store/chargebacks.ts'
import { isUsedByChargeback } from './chargebacks/use-cases/change-chargeback.ts'
import { getChargeback } from './chargebacks/use-cases/find-chargeback.ts'
import { bindStoreComment } from './comments/effects/store-comment.ts'
import { bindEraseRest } from './effects/erase-rest.ts'
import { type EndResourcesDeps, LASTING_METHODS, startTestRetentionOfSupport } from './end-test-resources.ts'
import { erasableParts } from './erasable-parts.ts'
import { createPaymentSupportRpc } from './payment-support/rpc/payment-support-service.ts'
import type { Refund } from './refunds/domain/refund.ts'
import { createMerchantRefundRpc } from './refunds/rpc/merchant-refund-service.ts'
import { createRefundRpc } from './refunds/rpc/refund-service.ts'
import { keyOfRefund, REFUNDS } from './refunds/store/refunds.ts'
import { refundComments } from './refunds/use-cases/comment-refund.ts'
import { getRefund } from './refunds/use-cases/find-refund.ts'
import { createActRpc } from './rpc/act-service.ts'
import { createAttachmentUseRpc } from './rpc/attachment-use-service.ts'
import { createEffectRpc } from './rpc/effect-service.ts'
import { createSupportErasureRpc } from './rpc/support-erasure-service.ts'
import { createSupportReferenceRpc } from './rpc/support-reference-service.ts'
import { createSupportSummaryRpc } from './rpc/support-summary-service.ts'
import { openSupportStore, type SupportStore } from './store/support-store.ts'
import { summarizeSupport } from './summarize-support.ts'
import type { Ticket } from './tickets/domain/ticket.ts'
import { createMerchantTicketRpc } from './tickets/rpc/merchant-ticket-service.ts'
import { createTicketRpc } from './tickets/rpc/ticket-service.ts'
import { findTicketById, keyOfTicket, TICKETS } from './tickets/store/tickets.ts'
import { ticketComments } from './tickets/use-cases/comment-ticket.ts'
import { isUsedByComment, isUsedByTicket } from './tickets/use-cases/use-files.ts'
import type { FileUsers } from './use-cases/attachment-use.ts'
import { eraseOfPayment, eraseResource, startRetentionWalk } from './use-cases/erase-resources.ts'
import { type StuckDocumentsDeps, stuckDocuments } from './use-cases/stuck-effects.ts'

/** The settings of the support service. */
export const SUPPORT_CONFIG = {
  ...PUBLISHER_SETTINGS,
  erasures_file: ERASURES_FILE_SETTING,
  retention_ms: PERSON_RETENTION_SETTING,
  test_retention_ms: TEST_RETENTION_SETTING,
}

/** The support service: tickets, refunds and chargebacks. */
export const role: Role<'support'> = {
  name: 'support',
  settings: SUPPORT_CONFIG,
  async start(context) {
    const config = readConfig(SUPPORT_CONFIG, context.variables)
    const acts = keepActs(await context.openStore())
    const store = await openSupportStore(acts.store)
    const runs = await startRuns(store.runs, context.clock_guard)
    const { tickets, ticket_comments, refunds, refund_comments, chargebacks } = store
    const payment_refunds = context.clientOf(PaymentRefundService)
    const publisher = await openPublisher(context, context.keys.event_support)
    const publish = publishEventHandler(publisher)
    const shared = {
      idempotency: createIdempotency(store.idempotency_records, context.clock_guard, {
        test_lifetime_ms: config.test_retention_ms,
        lasting_methods: LASTING_METHODS,
      }),
      attachments: context.clientOf(AttachmentService),
      keys: context.keys,
    }
    const { ticket_effects, refund_effects, chargeback_effects } = createAllEffects(
      { ...context, runs },
      store,
      {
        publish,
        attachments: shared.attachments,
        payment_refunds,
      },
    )
    const ticket_deps = {
      ...shared,
      tickets,
      comments: ticket_comments,
      runner: ticket_effects.runner,
      payments: context.clientOf(PaymentService),
    }
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
    const erasure = createErasure({ ...context, ...shared }, config, store, {
      tickets: ticket_effects.runner,
      refunds: refund_effects.runner,
      chargebacks: chargeback_effects.runner,
    })
    const all_effects = [ticket_effects, refund_effects, chargeback_effects]
    return {
      services: [
        createMerchantTicketRpc(ticket_deps),
        createTicketRpc(ticket_deps),
        createMerchantRefundRpc(refund_deps),
        createRefundRpc(refund_deps),
        createMerchantChargebackRpc(chargeback_deps),
        createChargebackRpc(chargeback_deps),
        createAttachmentUseRpc(fileUsers(store)),
        createSupportErasureRpc(erasure),
        createActRpc(acts.findAct),
        createSupportReferenceRpc(store),
        createSupportSummaryRpc(() => summarizeSupport(store)),
        createEffectRpc(new Map(all_effects.map(({ name, stuck }) => [name, stuck]))),
        createPaymentSupportRpc({
          ...store,
          ticket_comments: ticketComments(ticket_deps),
          refund_comments: refundComments(refund_deps),
        }),
      ],
      async open() {
        for (const { runner } of all_effects) runner.start()
        return {}
      },
      limitations: () => busLimitations(config.bus_auth),
      async stop() {
        await erasure.stop()
        for (const { runner } of all_effects) await runner.stop()
        await runs.stop()
        await publisher.close()
      },
    }
  },
}

/** Makes the runners of the effects of tickets, refunds and chargebacks. */
function createAllEffects(
  context: RoleContext<'support'> & { readonly runs: Runs },
  { tickets, ticket_comments, refunds, refund_comments, chargebacks }: SupportStore,
  {
    publish,
    attachments,
    payment_refunds,
  }: {
    readonly publish: ReturnType<typeof publishEventHandler>
    readonly attachments: Client<typeof AttachmentService>
    readonly payment_refunds: Client<typeof PaymentRefundService>
  },
) {
  const erasers = { attachments, notifier: context.clientOf(DeliveryErasureService) }
  const ticket_effects = createEffects<Ticket>(context, TICKETS, {
    collection: tickets,
    effects: [
      bindStoreComment<Ticket>(ticket_comments),
      bindEraseRest<Ticket>(erasers, {
        idsOf: ({ ticket_id, replaced_ticket_ids = [] }) => [ticket_id, ...replaced_ticket_ids],
        filesOf: ({ attachments: files }) => files,
        comments: ticket_comments,
      }),
      publishEventEffect.bind<Ticket>(publish),
    ],
    keyOf: keyOfTicket,
    idOf: ({ ticket_id }) => ticket_id,
    async get(id) {
      const ticket = await findTicketById(tickets, id)
      if (!ticket) throw new PublicError(10001)
      return ticket
    },
  })
  const refund_effects = createEffects<Refund>(context, REFUNDS, {
    collection: refunds,
    effects: [
      bindStoreComment<Refund>(refund_comments),
      bindEraseRest<Refund>(erasers, { idsOf: ({ refund_id }) => [refund_id], comments: refund_comments }),
      publishEventEffect.bind<Refund>(publish),
    ],
    keyOf: keyOfRefund,
    idOf: ({ refund_id }) => refund_id,
    get: (id) => getRefund(refunds, id),
  })
  const chargeback_effects = createEffects<Chargeback>(context, CHARGEBACKS, {
    collection: chargebacks,
    effects: [
      bindReturnAmount(payment_refunds),
      bindEraseRest<Chargeback>(erasers, {
        idsOf: ({ chargeback_id }) => [chargeback_id],
        filesOf: ({ evidence }) => evidence,
      }),
      publishEventEffect.bind<Chargeback>(publish),
    ],
    keyOf: keyOfChargeback,
    idOf: ({ chargeback_id }) => chargeback_id,
    get: (id) => getChargeback(chargebacks, id),
  })
  return { ticket_effects, refund_effects, chargeback_effects }
}

/** What erases tickets, refunds and chargebacks, on request and when their time is over, and deletes those of the test environment. */
function createErasure(
  {
    clock_guard,
    keys,
    attachments,
    idempotency,
  }: RoleContext<'support'> & Omit<EndResourcesDeps, keyof TestRetention>,
  { erasures_file, retention_ms, test_retention_ms }: Config<typeof SUPPORT_CONFIG>,
  store: SupportStore,
  runners: {
    readonly tickets: EffectRunner<Ticket>
    readonly refunds: EffectRunner<Refund>
    readonly chargebacks: EffectRunner<Chargeback>
  },
) {
  const parts = erasableParts(store)
  const erasures = createErasureLog(erasures_file, keys.search)
  const tickets = { part: parts.ticket, runner: runners.tickets, erasures }
  const refunds = { part: parts.refund, runner: runners.refunds, erasures }
  const chargebacks = { part: parts.chargeback, runner: runners.chargebacks, erasures }
  const retention = { clock_guard, retention_ms, test_retention_ms }
  const walks = [
    startRetentionWalk(tickets, retention),
    startRetentionWalk(refunds, retention),
    startRetentionWalk(chargebacks, retention),
    startTestRetentionOfSupport(store, {
      attachments,
      idempotency,
      clock_guard,
      retention_ms: test_retention_ms,
    }),
  ]
  return {
    async eraseTicket(merchant_id: string, ticket_id: string) {
      const ticket = await findTicketById(store.tickets, ticket_id)
      if (ticket?.merchant_id !== merchant_id) throw new PublicError(10001)
      await eraseResource(tickets, ticket)
    },
    async eraseOfPayment(payment: MerchantScope & { readonly payment_c_id: string }) {
      await eraseOfPayment(tickets, payment)
      await eraseOfPayment(refunds, payment)
      await eraseOfPayment(chargebacks, payment)
    },
    async stop() {
      await Promise.all(walks.map((walk) => walk.stop()))
    },
  }
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
  { clock_guard, runs }: Pick<RoleContext, 'clock_guard'> & { readonly runs: Runs },
  { name, key }: CollectionSpec,
  documents: Omit<StuckDocumentsDeps<D>, 'runner' | 'key_fields'> & {
    readonly effects: readonly BoundEffect<D>[]
  },
) {
  const runner = createEffectRunner<D>({ ...documents, name, clock_guard, runs })
  return { name, runner, stuck: stuckDocuments<D>({ ...documents, runner, key_fields: key }) }
}

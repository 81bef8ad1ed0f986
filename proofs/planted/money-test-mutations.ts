import type { TestMutation } from './mutation.ts'

/** Faults of money and of the ways to it that tests must find: what the operator decides, what `verify` and `restore` compare. */
export const MONEY_TEST_MUTATIONS: readonly TestMutation[] = [
  {
    name: 'a second credit of a payment passes the verification',
    file: 'services/balances/verification/checks.ts',
    search: 'if (credits.length > 1)',
    replace: 'if (credits.length > 2)',
    tests: ['services/balances/verification/verify-shard.test.ts'],
  },
  {
    name: 'an entry agrees with its payment whatever its amount is',
    file: 'services/payments/domain/payment-claims.ts',
    search: 'entry.posting === claim.posting && entry.amount === amount,',
    replace: 'entry.posting === claim.posting && amount >= 0n,',
    tests: ['services/payments/domain/payment-claims.test.ts'],
  },
  {
    name: 'a chargeback of another amount agrees with its payment',
    file: 'services/payments/domain/payment-claims.ts',
    search: 'return chargeback?.amount === amount &&',
    replace: 'return chargeback !== undefined &&',
    tests: ['services/payments/domain/payment-claims.test.ts'],
  },
  {
    name: 'the chargebacks of support are not compared with their payments',
    file: 'services/support/operations.ts',
    search: '        yield requirementOfChargeback(chargeback)\n',
    replace: '        if (chargeback.amount < 0n) yield requirementOfChargeback(chargeback)\n',
    tests: ['services/support/operations.test.ts'],
  },
  {
    name: 'a refused request is decided again after a second',
    file: 'services/payments/domain/hold-decision.ts',
    search: 'const REFUSED_FOR_MS = 60_000',
    replace: 'const REFUSED_FOR_MS = 1_000',
    tests: ['services/payments/use-cases/create-withdrawal.test.ts'],
  },
  {
    name: 'an adjustment forgets the payment that it is about',
    file: 'services/balances/rpc/request-fields.ts',
    search: "payment_id: paymentId === '' ? undefined : idOf(paymentId, 'payment_id'),",
    replace: "payment_id: paymentId.length < 8 ? undefined : idOf(paymentId, 'payment_id'),",
    tests: ['services/balances/rpc/balance-service.test.ts'],
  },
  {
    name: 'a settlement needs no operation_id',
    file: 'services/balances/rpc/command-proto.ts',
    search:
      "const operation_id = idOf(request.operationId, 'operation_id', OPERATION_ID_CHARACTERS_MAX)\n  const id = settlementId",
    replace:
      "const operation_id = idOf(request.operationId || String(performance.now()), 'operation_id', OPERATION_ID_CHARACTERS_MAX)\n  const id = settlementId",
    tests: ['services/balances/rpc/balance-service.test.ts'],
  },
  {
    name: 'a chargeback needs no operation_id',
    file: 'services/support/chargebacks/rpc/chargeback-service.ts',
    search: "operation_id: requiredId(request.operationId, 'operation_id'),",
    replace: "operation_id: requiredId(request.operationId || String(performance.now()), 'operation_id'),",
    tests: ['test/integration/chargebacks.test.ts'],
  },
  {
    name: 'a creation needs no operation_id',
    file: 'services/merchants/rpc/route-service.ts',
    search: "createRoute(deps, requiredId(request.operationId, 'operation_id'), {",
    replace:
      "createRoute(deps, requiredId(request.operationId || String(performance.now()), 'operation_id'), {",
    tests: ['services/merchants/use-cases/create-once.test.ts'],
  },
  {
    name: 'a change of a refund that comes too early is a fault',
    file: 'services/support/refunds/domain/refund.ts',
    search: '    throw new Unavailable(\n      `the change',
    replace: '    throw new RangeError(\n      `the change',
    tests: ['services/support/refunds/refund-changes.test.ts'],
  },
  {
    name: 'a refund is not read linearizably',
    file: 'services/support/refunds/store/refunds.ts',
    search: 'const options = { linearizable: true }',
    replace: 'const options = { linearizable: false }',
    tests: ['services/support/refunds/store/refunds.test.ts'],
  },
  {
    name: 'a stored event that lacks its deliveries gets none',
    file: 'services/notifier/use-cases/check-events.ts',
    search: '    await createDeliveries(deps, event)\n',
    replace: '',
    tests: ['services/notifier/use-cases/check-events.test.ts'],
  },
  {
    name: 'a callback whose write arrived after its call had failed wakes no notifier',
    file: 'services/notifier/use-cases/check-events.ts',
    search: "if (delivery?.status === 'pending') await deps.pipeline.wake(delivery)",
    replace: "if (delivery?.status === 'delivered') await deps.pipeline.wake(delivery)",
    tests: ['services/notifier/use-cases/check-events.test.ts'],
  },
  {
    name: 'the age of the oldest event without a receipt is not measured',
    file: 'lib/patterns/effects/measure-effects.ts',
    search: "if (lane === 'event') oldest_due_callback.set({ waits_in: documents }, seconds)",
    replace: "if (lane === 'event') oldest_due_callback.set({ waits_in: documents }, 0)",
    tests: ['lib/patterns/effects/measure-effects.test.ts'],
  },
  {
    name: 'one origin takes all places of its merchant',
    file: 'services/notifier/pipeline/slots.ts',
    search: 'origin: { all: 256, unproven: 64,',
    replace: 'origin: { all: 512, unproven: 128,',
    tests: ['services/notifier/pipeline/pipeline.fairness.test.ts'],
  },
  {
    name: 'the history of a withdrawal begins with the decision of the ledger',
    file: 'services/payments/domain/new-payment.ts',
    search: 'at: fields.created_at, amount: fields.amount',
    replace: 'at, amount: fields.amount',
    tests: ['services/payments/effects/hold-funds.test.ts'],
  },
  {
    name: 'support may send the events of payments',
    file: 'deploy/nats.conf',
    search: 'publish: ["multihub.events.ticket.>", ',
    replace: 'publish: ["multihub.events.payment.>", "multihub.events.ticket.>", ',
    tests: ['deploy/nats.test.ts'],
  },
]

import type { DescMethodUnary, DescService, Message } from '@bufbuild/protobuf'
import { ActService as AttachmentActs } from '#gen/multihub/attachments/v1/act_service_pb.ts'
import { AttachmentReferenceService } from '#gen/multihub/attachments/v1/attachment_reference_service_pb.ts'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { ActService as BackofficeActs } from '#gen/multihub/backoffice/v1/act_service_pb.ts'
import { ApprovalService } from '#gen/multihub/backoffice/v1/approval_service_pb.ts'
import { AuditService } from '#gen/multihub/backoffice/v1/audit_service_pb.ts'
import { CallbackService } from '#gen/multihub/backoffice/v1/callback_service_pb.ts'
import { ExchangeService } from '#gen/multihub/backoffice/v1/exchange_service_pb.ts'
import { OperationService } from '#gen/multihub/backoffice/v1/operation_service_pb.ts'
import { OverviewService } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import { PersonalDataService } from '#gen/multihub/backoffice/v1/personal_data_service_pb.ts'
import { PrincipalService } from '#gen/multihub/backoffice/v1/principal_service_pb.ts'
import { SearchService } from '#gen/multihub/backoffice/v1/search_service_pb.ts'
import { TimelineService } from '#gen/multihub/backoffice/v1/timeline_service_pb.ts'
import { ActService as BalanceActs } from '#gen/multihub/balances/v1/act_service_pb.ts'
import { BalanceService } from '#gen/multihub/balances/v1/balance_service_pb.ts'
import { LedgerReferenceService } from '#gen/multihub/balances/v1/ledger_reference_service_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { ExchangeReferenceService } from '#gen/multihub/gateway/v1/exchange_reference_service_pb.ts'
import { TestRequestService } from '#gen/multihub/gateway/v1/test_request_service_pb.ts'
import { ActService as MerchantActs } from '#gen/multihub/merchants/v1/act_service_pb.ts'
import { CredentialService } from '#gen/multihub/merchants/v1/credential_service_pb.ts'
import { EndpointService } from '#gen/multihub/merchants/v1/endpoint_service_pb.ts'
import { MerchantReferenceService } from '#gen/multihub/merchants/v1/merchant_reference_service_pb.ts'
import { MerchantService } from '#gen/multihub/merchants/v1/merchant_service_pb.ts'
import { RouteService } from '#gen/multihub/merchants/v1/route_service_pb.ts'
import { ActService as NotifierActs } from '#gen/multihub/notifier/v1/act_service_pb.ts'
import { DeliveryReferenceService } from '#gen/multihub/notifier/v1/delivery_reference_service_pb.ts'
import { DeliveryService } from '#gen/multihub/notifier/v1/delivery_service_pb.ts'
import { ListenerService } from '#gen/multihub/notifier/v1/listener_service_pb.ts'
import { ActService as PaymentActs } from '#gen/multihub/payments/v1/act_service_pb.ts'
import { PaymentErasureService } from '#gen/multihub/payments/v1/payment_erasure_service_pb.ts'
import { PaymentExplanationService } from '#gen/multihub/payments/v1/payment_explanation_service_pb.ts'
import { AnomalyResolutionKind } from '#gen/multihub/payments/v1/payment_pb.ts'
import { PaymentReferenceService } from '#gen/multihub/payments/v1/payment_reference_service_pb.ts'
import { PaymentService } from '#gen/multihub/payments/v1/payment_service_pb.ts'
import { ProviderAccountService } from '#gen/multihub/payments/v1/provider_account_service_pb.ts'
import { ActService as SupportActs } from '#gen/multihub/support/v1/act_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { EffectService } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { PaymentSupportService } from '#gen/multihub/support/v1/payment_support_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { SupportErasureService } from '#gen/multihub/support/v1/support_erasure_service_pb.ts'
import { SupportReferenceService } from '#gen/multihub/support/v1/support_reference_service_pb.ts'
import { SupportSummaryService } from '#gen/multihub/support/v1/support_summary_service_pb.ts'
import { TicketService } from '#gen/multihub/support/v1/ticket_service_pb.ts'
import { personSubjectsIn } from '#lib/patterns/person-hashes.ts'
import type { ServedMethod } from '#lib/rpc/service.ts'
import type { Right } from './rights.ts'

/** Where the merchant of a call comes from. A call without it is closed to principals of merchants (O1). */
export type MerchantSource =
  /** `merchant_id` of the request. A principal of a merchant may leave it out. */
  | { readonly from: 'request' }
  /** `merchant_id` of this message of the answer, for calls that change nothing. */
  | { readonly from: 'answer'; readonly field: string }
  /** `merchant_id` of what another RPC finds under the id in this field of the request. */
  | { readonly from: 'look-up'; readonly id: string; readonly find: DescMethodUnary; readonly field: string }
  /** The back office answers itself, and only with what belongs to the merchant of the principal. */
  | { readonly from: 'principal' }
  /** The id in this field of the request is among those that another RPC lists for the merchant of the principal. */
  | { readonly from: 'own list'; readonly id: string; readonly list: DescMethodUnary; readonly field: string }

/** What the back office must know of an RPC (O1, O14). */
interface Rules {
  /** One of these rights is needed. */
  readonly rights: readonly Right[]
  /** Whether it changes something: it is audited then. */
  readonly changes: boolean
  /** Whether it always reveals personal data, also without a field `reveal`: it is audited then. */
  readonly reveals?: true
  readonly merchant?: MerchantSource
  /** Whether it books an entry. Its merchant must exist then, and its `payment_id` is a payment of this merchant (O18). */
  readonly is_booking?: true
  /** Fields of the request that may hold personal data or secrets, which no audit entry shows. */
  readonly personal?: readonly string[]
}

/** What depends on the request of a call. */
interface ByRequest {
  /** One of these rights is needed for this request. */
  readonly rightsOf?: (request: Message) => readonly Right[]
  /** Whether this request reveals personal data to a principal with the right `reveal`: it is audited then. */
  readonly revealsTo?: (request: Message) => boolean
}

/** One operator's RPC. */
export interface OperatorRpc extends Rules, ByRequest {
  readonly method: ServedMethod
}

const IN_REQUEST: MerchantSource = { from: 'request' }

const read = (merchant?: MerchantSource, rights: readonly Right[] = ['read']): Rules => ({
  rights,
  changes: false,
  ...(merchant && { merchant }),
})

const inAnswer = (field: string): Rules => read({ from: 'answer', field })

const change = (
  rights: Right | readonly Right[],
  { merchant, personal }: Partial<Pick<Rules, 'merchant' | 'personal'>> = {},
): Rules => ({
  rights: typeof rights === 'string' ? [rights] : rights,
  changes: true,
  ...(merchant && { merchant }),
  ...(personal && { personal }),
})

const ofMerchant = (right: Right, personal?: readonly string[]): Rules =>
  change(right, { merchant: IN_REQUEST, ...(personal && { personal }) })

/** The rows of one service, by the names of its RPCs. */
function rowsOf<S extends DescService & { readonly method: Readonly<Record<string, unknown>> }>(
  service: S,
  rows: { readonly [M in keyof S['method']]?: Rules & ByRequest },
): readonly OperatorRpc[] {
  return Object.entries(rows).map(([name, rules]) => ({
    // Each name of `rows` is one of the service, none of whose RPCs takes a stream.
    method: service.method[name] as ServedMethod,
    ...(rules as Rules),
  }))
}

/**
 * Every RPC of the operator (O1). The back office serves these and no others; a test fails for an RPC that permits the back
 * office and is not here. `npm run docs` makes the table in docs/internal-teams.md from it.
 */
export const OPERATOR_RPCS: readonly OperatorRpc[] = [
  ...rowsOf(MerchantService, {
    createMerchant: change('admin'),
    getMerchant: read(IN_REQUEST),
    listMerchants: read(),
    updateMerchant: ofMerchant('admin'),
  }),
  ...rowsOf(CredentialService, {
    createCredential: ofMerchant('admin'),
    updateCredential: change('admin'),
    rotateSecret: change(['admin', 'rotate'], {
      merchant: {
        from: 'own list',
        id: 'applicationId',
        list: CredentialService.method.listCredentials,
        field: 'credentials',
      },
    }),
    getCredential: inAnswer('credential'),
    listCredentials: read(IN_REQUEST),
  }),
  ...rowsOf(RouteService, {
    createRoute: ofMerchant('admin'),
    updateRoute: change('admin'),
    getRoute: inAnswer('route'),
    listRoutes: read(IN_REQUEST),
  }),
  ...rowsOf(EndpointService, {
    createEndpoint: ofMerchant('admin', ['url']),
    updateEndpoint: change('admin', { personal: ['url'] }),
    rotateEndpointSecret: change(['admin', 'rotate'], {
      merchant: {
        from: 'own list',
        id: 'endpointId',
        list: EndpointService.method.listEndpoints,
        field: 'endpoints',
      },
    }),
    getEndpoint: inAnswer('endpoint'),
    listEndpoints: read(IN_REQUEST),
  }),
  ...rowsOf(PaymentService, {
    getPayment: inAnswer('payment'),
    listPayments: read(IN_REQUEST),
    // They name provider accounts and hold the operator's notes.
    listAnomalies: read(),
    getAnomaly: read(),
    resolveAnomaly: {
      ...change(['money', 'support'], { personal: ['note'] }),
      rightsOf: (request) => (isDismissal(request) ? ['support'] : ['money']),
    },
    listWithdrawalRefusals: read(IN_REQUEST),
    listStuckEffects: read(),
    retryEffect: change('support'),
    explainRoute: read(IN_REQUEST),
    summarizePayments: read(),
  }),
  ...rowsOf(PaymentExplanationService, { explainPayment: read() }),
  ...rowsOf(ProviderAccountService, {
    listProviderAccounts: read(),
    listUnconfiguredAccounts: read(),
    confirmAccountMoved: change('money'),
    setAccountState: change('admin'),
  }),
  ...rowsOf(BalanceService, {
    getBalances: read(IN_REQUEST),
    adjust: { ...ofMerchant('money'), is_booking: true },
    settle: { ...ofMerchant('money'), is_booking: true },
    previewSettlement: read(IN_REQUEST),
    listEntries: read(IN_REQUEST),
    exportEntries: read(IN_REQUEST),
    getEntry: read(IN_REQUEST),
    summarizeLedger: read(),
  }),
  ...rowsOf(VerificationService, {
    startVerification: change('money'),
    getVerification: read(),
    resumeShard: change('money'),
  }),
  ...rowsOf(TicketService, {
    moveTicket: change('support'),
    answerTicket: change('support', { personal: ['body'] }),
    setTicketPriority: change('support'),
    deleteTicket: change('support'),
    getTicket: inAnswer('ticket'),
    listTicketComments: read({
      from: 'look-up',
      id: 'ticketId',
      find: TicketService.method.getTicket,
      field: 'ticket',
    }),
    listTickets: read(IN_REQUEST),
  }),
  ...rowsOf(RefundService, {
    approveRefund: change('money'),
    rejectRefund: change('money', { personal: ['reason'] }),
    cancelRefund: change('money', { personal: ['reason'] }),
    getRefund: inAnswer('refund'),
    listRefunds: read(IN_REQUEST),
    answerRefund: change('support', { personal: ['body'] }),
    listRefundComments: read({
      from: 'look-up',
      id: 'refundId',
      find: RefundService.method.getRefund,
      field: 'refund',
    }),
  }),
  ...rowsOf(ChargebackService, {
    openChargeback: change('money'),
    moveChargeback: change('money', { personal: ['note'] }),
    addEvidence: change('money'),
    getChargeback: inAnswer('chargeback'),
    listChargebacks: read(IN_REQUEST),
  }),
  ...rowsOf(PaymentSupportService, { getPaymentSupport: read() }),
  ...rowsOf(SupportSummaryService, { summarizeSupport: read() }),
  ...rowsOf(EffectService, { listStuckEffects: read(), retryEffect: change('support') }),
  ...rowsOf(AttachmentService, {
    prepareEvidence: ofMerchant('money', ['file']),
    openEvidenceUpload: ofMerchant('money'),
    finalizeEvidence: ofMerchant('money'),
    // It answers a link to the bytes, which can be a passport.
    getAttachment: { ...read(IN_REQUEST, ['support', 'reveal']), reveals: true },
    getAttachments: read(IN_REQUEST),
  }),
  ...rowsOf(DeliveryService, {
    listDeliveries: read(IN_REQUEST),
    getDelivery: inAnswer('delivery'),
    replayDelivery: change('support'),
    replayDeliveries: change('support'),
    getReplay: inAnswer('replay'),
    summarizeDeliveries: read(),
    sendTestEvent: change('support'),
    listDestinations: read(),
    getDestination: read(),
    probeDestination: change('support'),
  }),
  ...rowsOf(PrincipalService, {
    createPrincipal: ofMerchant('admin'),
    getPrincipal: read(undefined, ['admin']),
    listPrincipals: read(undefined, ['admin']),
    updatePrincipal: change('admin'),
    rotateToken: change('admin'),
    revokePrincipal: change('admin'),
    whoAmI: inAnswer('principal'),
  }),
  ...rowsOf(ApprovalService, {
    setApprovalPolicy: change('admin'),
    listApprovalPolicies: read(),
    listApprovals: read(),
    getApproval: read(),
    // Which of them it needs is known with the approval.
    approve: change(['money', 'admin']),
    reject: change(['money', 'admin']),
  }),
  ...rowsOf(PersonalDataService, { erasePerson: ofMerchant('admin', ['email']) }),
  ...rowsOf(TimelineService, {
    getTimeline: read({
      from: 'look-up',
      id: 'paymentId',
      find: PaymentService.method.getPayment,
      field: 'payment',
    }),
  }),
  ...rowsOf(CallbackService, {
    listenToCallbacks: { ...read(IN_REQUEST, ['reveal']), reveals: true },
    triggerEvent: ofMerchant('read'),
  }),
  ...rowsOf(ExchangeService, {
    listExchanges: read(IN_REQUEST),
    getExchange: read(IN_REQUEST),
    watchExchanges: read(IN_REQUEST),
  }),
  ...rowsOf(OperationService, { listOperations: read() }),
  ...rowsOf(OverviewService, { getOverview: read() }),
  ...rowsOf(AuditService, {
    listAuditEntries: read(undefined, ['admin']),
    getAuditEntry: read(undefined, ['admin']),
    verifyAudit: read(undefined, ['admin']),
  }),
  ...rowsOf(SearchService, {
    search: { ...read({ from: 'principal' }), personal: ['text'], revealsTo: isSearchForPerson },
  }),
]

/** The services that know what an act of the operator has changed, one per role. */
export const ACT_SERVICES = [
  MerchantActs,
  PaymentActs,
  SupportActs,
  AttachmentActs,
  NotifierActs,
  BalanceActs,
  BackofficeActs,
] as const

/** The RPCs by which the back office itself asks the other roles. The door serves none of them. */
export const OWN_RPCS: readonly DescMethodUnary[] = [
  ...ACT_SERVICES.map(({ method }) => method.findAct),
  PaymentReferenceService.method.findReferences,
  SupportReferenceService.method.findReferences,
  LedgerReferenceService.method.findReferences,
  DeliveryReferenceService.method.findReferences,
  AttachmentReferenceService.method.findReferences,
  MerchantReferenceService.method.findReferences,
  ExchangeReferenceService.method.findReferences,
  PaymentErasureService.method.erasePerson,
  SupportErasureService.method.erasePerson,
  ListenerService.method.openListener,
  ListenerService.method.pullDeliveries,
  TestRequestService.method.sendTestRequest,
]

/** Whether the text of a search can be an e-mail, phone or account number. */
function isSearchForPerson(request: Message): boolean {
  return personSubjectsIn(String(Reflect.get(request, 'text')).trim()).length > 0
}

/** Whether a decision about an anomaly moves no money (O14). */
function isDismissal(request: Message): boolean {
  return Reflect.get(request, 'resolution') === AnomalyResolutionKind.DISMISSED
}

/** The name of an RPC in audit entries and policies, such as `multihub.balances.v1.BalanceService/Adjust`. */
export function nameOfRpc({ parent, name }: ServedMethod): string {
  return `${parent.typeName}/${name}`
}

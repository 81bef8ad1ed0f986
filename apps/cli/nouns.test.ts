import type { DescMessage, DescMethodUnary } from '@bufbuild/protobuf'
import { describe, expect, test } from '@jest/globals'
import { OPERATOR_RPCS } from '../../services/backoffice/domain/operator-rpcs.ts'
import { isRead } from './call/repeating.ts'
import type { Noun, Verb } from './nouns/noun.ts'
import { NOUNS } from './nouns.ts'
import { rowsField } from './output/print.ts'

interface Entry {
  readonly title: string
  readonly verb: Verb
  readonly method: DescMethodUnary | undefined
}

const nouns = await Promise.all(
  NOUNS.map(async ({ name, load }) => ({ name, noun: (await load()).noun as Noun })),
)
const entries: readonly Entry[] = (
  await Promise.all(
    nouns.flatMap(({ name, noun }) =>
      noun.verbs.map(async (verb) => {
        const service = await (verb.service ?? noun.service)()
        return {
          title: `${name} ${verb.name}`,
          verb,
          method: service.method[verb.rpc] as DescMethodUnary | undefined,
        }
      }),
    ),
  )
).flat()

/** RPCs of the operator without a command of a noun, and why. */
const WITHOUT_VERB: Readonly<Record<string, string>> = {
  'CallbackService/ListenToCallbacks': 'multihub listen',
  'CallbackService/TriggerEvent': 'multihub trigger',
  'ExchangeService/WatchExchanges': 'multihub logs tail',
  'OverviewService/GetOverview': 'multihub overview',
  'PaymentExplanationService/ExplainPayment': 'a part of the timeline',
  'PaymentSupportService/GetPaymentSupport': 'a part of the timeline',
  'PrincipalService/WhoAmI': 'multihub whoami',
  'SearchService/Search': 'multihub search',
  'TimelineService/GetTimeline': 'multihub timeline',
  'PaymentService/SummarizePayments': 'a part of the overview',
  'BalanceService/SummarizeLedger': 'a part of the overview',
  'SupportSummaryService/SummarizeSupport': 'a part of the overview',
  'DeliveryService/SummarizeDeliveries': 'a part of the overview',
  'BalanceService/ExportEntries': 'for programs; balances entries --csv has the same columns',
  'ActService/FindAct': 'audit show has it',
  'AttachmentService/PrepareEvidence': 'multihub chargebacks add-evidence --file',
  'AttachmentService/OpenEvidenceUpload': 'multihub chargebacks add-evidence --file',
  'AttachmentService/FinalizeEvidence': 'multihub chargebacks add-evidence --file',
  'AttachmentService/GetAttachment': 'multihub files get',
  'AttachmentService/GetAttachments': 'multihub chargebacks add-evidence --file',
}

test('every RPC of the operator has a command', () => {
  const used = new Set(
    entries.flatMap(({ verb, method }) =>
      [verb.rpc, verb.many?.rpc, verb.previewed_by].map(
        (rpc) => rpc && `${method?.parent.name}/${method?.parent.method[rpc]?.name}`,
      ),
    ),
  )
  const names = OPERATOR_RPCS.map(({ method }) => `${method.parent.name}/${method.name}`)
  expect(names.filter((name) => !used.has(name) && WITHOUT_VERB[name] === undefined)).toEqual([])
})

describe.each(entries)('$title', ({ verb, method }) => {
  test('calls an RPC that exists, with the fields that it names', () => {
    expect(method?.methodKind).toBe('unary')
    const fields = method?.input.fields.map(({ name }) => name) ?? []
    if (verb.id !== undefined) expect(fields).toContain(verb.id)
    if (verb.each !== undefined) {
      const list = method?.parent.method[verb.each.list]
      expect(
        Object.keys(verb.each.fixed).filter(
          (name) => !(list?.input.fields ?? []).some((field) => field.localName === name),
        ),
      ).toEqual([])
      expect(rowsField(list?.output as DescMessage).message.fields.map(({ name }) => name)).toContain(verb.id)
    }
    if (verb.previewed_by !== undefined)
      expect(
        isRead({ localName: verb.previewed_by }) && method?.parent.method[verb.previewed_by],
      ).toBeTruthy()
    if (verb.many !== undefined) {
      const input = method?.parent.method[verb.many.rpc]?.input.fields.map(({ name }) => name)
      expect(input).toEqual(expect.arrayContaining([verb.many.filter, 'dry_run']))
    }
  })

  test('is known to change something, or not', () => {
    const rule = OPERATOR_RPCS.find((one) => one.method === method)
    expect(method && !isRead(method)).toBe(rule?.changes)
  })

  test('shows columns that the rows have', () => {
    const by_rows = verb.finds !== undefined && verb.finds !== 'payment' ? [verb.finds] : []
    const columns = [...(verb.columns ?? []), ...by_rows]
    if (columns.length === 0 || method === undefined) return
    const row = rowsField(method.output).message
    expect(columns.filter((column) => !hasPath(row, column.replace(/:.*/, '')))).toEqual([])
  })
})

function hasPath(desc: DescMessage, path: string): boolean {
  const [first = '', ...rest] = path.split('.')
  const field = desc.fields.find(({ name }) => name === first)
  if (field === undefined) return false
  if (rest.length === 0) return true
  return field.fieldKind === 'message' && hasPath(field.message, rest.join('.'))
}

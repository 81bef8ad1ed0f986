import { Code, ConnectError } from '@connectrpc/connect'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { type Account, account_acts } from './money.ts'
import { OperationIds, type UnclearRequests } from './operation-ids.ts'

const [adjust] = account_acts
const account: Account = {
  merchantId: '1001',
  environment: Environment.TEST,
  currency: 'INR',
  available: 0n,
  held: 0n,
}
const lost = new ConnectError('away', Code.Unavailable)
const refused = new ConnectError('no', Code.InvalidArgument)
const written = (amount: string) => ({ values: { amount }, reason: 'because' })

let unclear: UnclearRequests
let made: number
beforeEach(() => {
  unclear = new Map()
  made = 0
})

function openDialog(): OperationIds<Account> {
  if (adjust === undefined) throw new Error('there is no act')
  return new OperationIds(adjust, account, unclear, () => {
    made += 1
    return `id-${made}`
  })
}

describe('the key of a request whose answer was lost', () => {
  test('is the same when the dialog is opened again, until there is an answer', () => {
    const first = openDialog()
    const id = first.idOf(written('100'))
    first.noteFailure(lost)
    const second = openDialog()
    expect(second.isKnown(written('100'))).toBe(true)
    expect(second.idOf(written('100'))).toBe(id)
    second.noteDone()
    expect(openDialog().isKnown(written('100'))).toBe(false)
    expect(openDialog().idOf(written('100'))).not.toBe(id)
  })

  test('is kept in its dialog also for another decision', () => {
    const dialog = openDialog()
    const id = dialog.idOf(written('100'))
    dialog.noteFailure(lost)
    expect(dialog.idOf(written('200'))).toBe(id)
  })

  test('is kept while another decision under it is refused, and dropped once another one was done', () => {
    const dialog = openDialog()
    const id = dialog.idOf(written('100'))
    dialog.noteFailure(lost)
    dialog.idOf(written('200'))
    dialog.noteFailure(refused)
    expect(openDialog().idOf(written('100'))).toBe(id)
    const other = openDialog()
    other.idOf(written('100'))
    other.noteFailure(lost)
    expect(other.idOf(written('300'))).toBe(id)
    other.noteDone()
    expect(openDialog().isKnown(written('100'))).toBe(false)
  })

  test('is not that of another request', () => {
    const dialog = openDialog()
    const id = dialog.idOf(written('100'))
    dialog.noteFailure(lost)
    expect(openDialog().idOf(written('200'))).not.toBe(id)
  })
})

test('a refusal that changed nothing leaves no key for another dialog', () => {
  const dialog = openDialog()
  const id = dialog.idOf(written('100'))
  dialog.noteFailure(refused)
  expect(openDialog().idOf(written('100'))).not.toBe(id)
})

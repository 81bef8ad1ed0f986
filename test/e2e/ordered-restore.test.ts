import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createKeys, parseMasterKeys } from '#lib/base/crypto/keys.ts'
import { backUp } from '../../operations/backup/backup.ts'
import { readManifest, writeManifest } from '../../operations/backup/manifest.ts'
import { restore } from '../../operations/backup/restore.ts'
import { verify } from '../../operations/verify.ts'
import { runHere, runHereToEnd } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { type SystemHere, startHere } from '../support/system.ts'
import { verifyLedgerOf } from '../support/verification.ts'
import { destroyFiles, keysOf } from './backup.suite.ts'

const LONG_MS = 900_000
const REFUNDS = 'multihub.support.v1.RefundService'
const CHARGEBACKS = 'multihub.support.v1.ChargebackService'

let system: SystemHere
beforeAll(async () => {
  system = await startHere()
}, LONG_MS)
afterAll(() => system.end())

const operator = (rpc: string, request: object) => operatorOf(system.demo())(rpc, request)

/** A deposit that has succeeded and is credited. */
async function paidDeposit(alpha: MerchantClient, value: number): Promise<{ c_id: string; h_id: string }> {
  const before = await alpha.available()
  const { c_id } = await alpha.deposit(value)
  const { identifiers } = await alpha.finalPayment(c_id)
  await eventually(
    () => alpha.available(),
    (available) => available === before + value,
  )
  return { c_id, h_id: identifiers.h_id }
}

const requestRefund = (alpha: MerchantClient, refund_c_id: string, c_id: string, amount: string) =>
  alpha.call({
    method: 'refund.request',
    params: { identifiers: { c_id: refund_c_id }, payment: { c_id }, amount },
  })

async function completeRefund(alpha: MerchantClient, c_id: string, amount: string): Promise<void> {
  const { body } = await requestRefund(alpha, `refund-${c_id}`, c_id, amount)
  const refundId = body.result.identifiers.h_id
  await operator(`${REFUNDS}/ApproveRefund`, { refundId })
  await eventually(
    () => operator(`${REFUNDS}/ListRefunds`, { merchantId: alpha.merchant.merchant_id, pageSize: 100 }),
    ({ refunds = [] }) =>
      refunds.some(
        (refund: { refundId: string; status: string }) =>
          refund.refundId === refundId && refund.status === 'REFUND_STATUS_COMPLETED',
      ),
  )
}

async function openChargeback(h_id: string, value: number, operationId: string): Promise<string> {
  const { chargeback } = await operator(`${CHARGEBACKS}/OpenChargeback`, {
    paymentId: h_id,
    amount: { minor: `${value}` },
    reasonCode: '10.4',
    operationId,
  })
  return chargeback.chargebackId
}

/** A backup as of a server without snapshots: the databases of `early` as they were in `first`, all else as it was in `last`. */
async function composeOrdered(
  first: string,
  last: string,
  directory: string,
  master_key: string,
  early: readonly string[] = ['payments'],
): Promise<void> {
  await mkdir(directory)
  const { journal: signer } = createKeys(
    { master_keys: parseMasterKeys(master_key), derived_keys: new Map(), active_id: 'local' },
    ['journal'],
  )
  const [earlier, later] = [await readManifest(first, signer), await readManifest(last, signer)]
  const contents = later.contents.map((content) => {
    const found = earlier.contents.find(({ file }) => file === content.file)
    return early.includes(content.role) && found ? found : content
  })
  for (const { role, file } of contents)
    await copyFile(join(early.includes(role) ? first : last, file), join(directory, file))
  const { product: _product, format: _format, ...manifest } = later
  await writeManifest(directory, { ...manifest, consistency: 'ordered', contents }, signer)
}

// P18: what was given back while an ordered backup ran is neither lost nor given back twice.
test(
  'refunds and chargebacks that were made while an ordered backup ran are in its payments after the restore',
  async () => {
    const alpha = merchantClient(system.demo)
    const refunded = await paidDeposit(alpha, 70_000)
    const partly = await paidDeposit(alpha, 60_000)
    const charged = await paidDeposit(alpha, 50_000)
    const won = await paidDeposit(alpha, 40_000)
    const [first, last, ordered] = ['first', 'last', 'ordered'].map((name) => join(system.home, name)) as [
      string,
      string,
      string,
    ]
    const variables = { MULTIHUB_HOME: system.home, ...(await keysOf(system)) }
    await runHereToEnd(backUp, [first], variables)
    await completeRefund(alpha, refunded.c_id, '70000')
    await completeRefund(alpha, partly.c_id, '10000')
    await openChargeback(charged.h_id, 50_000, 'charged')
    const chargebackId = await openChargeback(won.h_id, 40_000, 'won')
    await operator(`${CHARGEBACKS}/MoveChargeback`, { chargebackId, status: 'CHARGEBACK_STATUS_WON' })
    const balance = await alpha.balance()
    await runHereToEnd(backUp, [last], variables)
    await composeOrdered(first, last, ordered, variables.MULTIHUB_MASTER_KEYS)
    const unreported = join(system.home, 'unreported')
    const early = ['payments', 'support']
    await composeOrdered(first, last, unreported, variables.MULTIHUB_MASTER_KEYS, early)
    // A payout whose payment the backup does not have: its repetition would pay again.
    const lost = await alpha.withdraw(5_000)
    await alpha.finalPayment(lost.c_id)
    await eventually(
      () => alpha.balance(),
      (now) => now?.value === balance.value - 5_000 && now.value_freezing === balance.value_freezing,
    )
    const [late, without] = [join(system.home, 'late'), join(system.home, 'without')]
    await runHereToEnd(backUp, [late], variables)
    await composeOrdered(first, late, without, variables.MULTIHUB_MASTER_KEYS)
    await system.stop()
    await rename(join(system.home, 'data'), join(system.home, 'data.before'))

    const refused = await runHere(restore, ['--erasures', 'none', without], variables)
    expect(refused.code).toBe(1)
    const cannot = refused.output.split('\n').filter((line) => line.startsWith('PROBLEM'))
    expect(cannot).toHaveLength(2)
    for (const line of cannot)
      expect(line).toMatch(
        /payments: the payment \S+ of the ledger entry \S+:hold(:resolve)? .* cannot be added/,
      )
    await expect(stat(join(system.home, 'data'))).rejects.toThrow('ENOENT')
    await rm(join(system.home, 'data.restoring'), { recursive: true })
    const admitted = ['--erasures', 'none', '--incomplete', without]
    expect((await runHere(restore, admitted, variables)).code).toBe(0)
    await rm(join(system.home, 'data'), { recursive: true })

    const restoreAll = async (directory: string) => {
      const words = ['--erasures', 'none', '--verify', directory]
      const ended = await runHere(restore, words, variables)
      expect(ended.output.split('\n').filter((line) => line.startsWith('PROBLEM'))).toEqual([])
      expect(ended.code).toBe(0)
      return ended
    }
    // Support was read before the refunds and the chargebacks, of which one was won: the payments report them to it.
    await restoreAll(unreported)
    await rm(join(system.home, 'data'), { recursive: true })
    const restored = await restoreAll(ordered)
    expect(restored.output).toMatch(
      /payments: the payment \S+ of the ledger entry \S+:hold:1 happened while the backup ran, and is added/,
    )
    await system.start()

    const statusOf = async (c_id: string) => (await alpha.status(c_id)).body.result.payment.status.status
    expect(await statusOf(refunded.c_id)).toBe('refunded')
    expect(await statusOf(partly.c_id)).toBe('partially_refunded')
    expect((await requestRefund(alpha, 'again-1', refunded.c_id, '70000')).body.error.code).toBe(11002)
    expect((await requestRefund(alpha, 'again-2', partly.c_id, '50001')).body.error.code).toBe(11004)
    await expect(openChargeback(charged.h_id, 50_000, 'again')).rejects.toThrow('11004')
    await eventually(
      () => alpha.balance(),
      (now) => now?.value === balance.value && now.value_freezing === balance.value_freezing,
    )
    expect(await verifyLedgerOf(operatorOf(system.demo()))).toMatchObject({ consistent: true })
    // Effects that the restore added have run, and nothing was booked twice.
    await system.stop()
    const verified = await runHere(verify, [], variables)
    expect(verified.output).toContain('the databases are complete and agree')
    await destroyFiles(system)
  },
  LONG_MS,
)

import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type Client, createClient, createRouterTransport } from '@connectrpc/connect'
import { AttachmentService } from '#gen/multihub/attachments/v1/attachment_service_pb.ts'
import { DeliveryErasureService } from '#gen/multihub/notifier/v1/delivery_erasure_service_pb.ts'
import { PaymentRefundService } from '#gen/multihub/payments/v1/payment_refund_service_pb.ts'
import { ChargebackService } from '#gen/multihub/support/v1/chargeback_service_pb.ts'
import { EffectService } from '#gen/multihub/support/v1/effect_service_pb.ts'
import { RefundService } from '#gen/multihub/support/v1/refund_service_pb.ts'
import { testKeys } from '#lib/base/crypto/keys.fixture.ts'
import { now } from '#lib/base/time.ts'
import { createMemoryBus } from '#lib/bus/memory.ts'
import type { RoleContext } from '#lib/role/role.ts'
import { createRpc } from '#lib/rpc/rpc.ts'
import { trustedClock } from '../../test/support/clock-guard.ts'
import { rpcConfig } from '../../test/support/rpc.ts'
import { openTestStore } from '../../test/support/store.ts'
import { role } from './service.ts'
import { openSupportStore, type SupportStore } from './store/support-store.ts'

/** The support role in this process, with payments as the test decides, and with files that are always ready. */
export interface SupportRole extends AsyncDisposable {
  readonly store: SupportStore
  /** The RPCs of the operator, and those by which payments reports. */
  readonly chargebacks: Client<typeof ChargebackService>
  readonly refunds: Client<typeof RefundService>
  readonly effects: Client<typeof EffectService>
  /** The chargebacks that payments was asked to credit back, repetitions included. */
  readonly returned: readonly string[]
  /** The files that were claimed and given back. */
  readonly released: readonly string[]
  /** The files, and the resources with callbacks, that were erased, repetitions included. */
  readonly erased: readonly string[]
  /** While it is not available, payments answers nothing. */
  setPaymentsAvailable(is_available: boolean): void
}

/** Starts the role over an embedded store of its own. `duringClaim` runs while files are claimed. */
export async function startSupportRole(duringClaim: () => void = () => {}): Promise<SupportRole> {
  const opened = await openTestStore()
  const returned: string[] = []
  const released: string[] = []
  const erased: string[] = []
  let is_available = true
  const transport = createRouterTransport(({ service }) => {
    service(PaymentRefundService, {
      returnChargeback({ chargebackId }) {
        if (!is_available) throw new Error('payments is not available, as the test says')
        returned.push(chargebackId)
        return {}
      },
    })
    service(AttachmentService, {
      claimAttachments({ attachmentIds }) {
        duringClaim()
        return {
          attachments: attachmentIds.map((attachmentId) => ({
            attachmentId,
            name: 'a.pdf',
            mimeType: 'application/pdf',
            sizeBytes: 1n,
            createTime: timestampFromDate(now()),
            hasFormulas: attachmentId.startsWith('formulas'),
          })),
        }
      },
      releaseAttachments({ attachmentIds }) {
        released.push(...attachmentIds)
        return {}
      },
      eraseAttachments({ attachmentIds }) {
        erased.push(...attachmentIds)
        return {}
      },
    })
    service(DeliveryErasureService, {
      erasePerson({ resourceId }) {
        erased.push(resourceId)
        return {}
      },
    })
  })
  const context: RoleContext = {
    variables: {},
    clientOf: (service) => createClient(service, transport),
    bus: createMemoryBus(),
    openStore: async () => opened.store,
    keys: testKeys(),
    clock_guard: trustedClock,
    draining: new AbortController().signal,
    stopping: new AbortController().signal,
  }
  const running = await role.start(context)
  const rpc = await createRpc(rpcConfig())
  rpc.add(running.services)
  await running.open?.()
  const { recordChargeback } = rpc.clientsOf('payments')(ChargebackService)
  const { recordRefundChange } = rpc.clientsOf('payments')(RefundService)
  return {
    store: await openSupportStore(opened.store),
    chargebacks: { ...rpc.clientsOf('backoffice')(ChargebackService), recordChargeback },
    refunds: { ...rpc.clientsOf('backoffice')(RefundService), recordRefundChange },
    effects: rpc.clientsOf('backoffice')(EffectService),
    returned,
    released,
    erased,
    setPaymentsAvailable: (value) => {
      is_available = value
    },
    async [Symbol.asyncDispose]() {
      await running.stop()
      rpc.close()
      await opened[Symbol.asyncDispose]()
    },
  }
}

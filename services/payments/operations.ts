import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { MerchantEventSchema } from '#gen/multihub/events/v1/event_pb.ts'
import { readConfig } from '#lib/base/config/config.ts'
import { KEY_SETTINGS, readKeys } from '#lib/base/config/key-settings.ts'
import { now } from '#lib/base/time.ts'
import { ownerOfWebhookSecret } from '#lib/contract/secret-owners.ts'
import { type Effect, withDueTimes } from '#lib/patterns/effects/effect.ts'
import { publishEventEffect } from '#lib/patterns/effects/publish-event.ts'
import { mayHaveEnded } from '#lib/patterns/test-retention.ts'
import { update } from '#lib/patterns/update.ts'
import {
  type CheckContext,
  type EnvironmentCheck,
  type Finding,
  inspectCertificate,
  ok,
  reach,
  serverOf,
  warning,
  withExpiry,
} from '#lib/role/environment-check.ts'
import { type Reseal, type RoleOperations, resealDocuments } from '#lib/role/operations.ts'
import type { Requirement } from '#lib/role/requirement.ts'
import type { Collection } from '#lib/store/store.ts'
import type { ProviderAccount } from './connectors/provider-account.ts'
import { type ProviderAccountSettings, readProviderAccounts } from './connectors/provider-accounts.ts'
import type { KnownAccount } from './domain/account-identity.ts'
import { withRestoredState } from './domain/account-state.ts'
import { erasePayment, hasEnded } from './domain/erase-payment.ts'
import type { StoredPayment } from './domain/payment.ts'
import { adoptClaim, agreesWith } from './domain/payment-claims.ts'
import { requirementsOfPayment } from './domain/payment-requirements.ts'
import { markRestored } from './domain/restored.ts'
import { PAYMENTS_CONFIG } from './service.ts'
import { KNOWN_ACCOUNTS } from './store/known-accounts.ts'
import { findByAnyId, keyOfPayment, listArchivable, PAYMENTS } from './store/payments.ts'
import { openPaymentsStore, openSealedStore } from './store/payments-store.ts'
import { resealPerson, type SealedPayment, withoutPerson } from './store/sealed-payments.ts'

const LIMIT_MS = 5_000

/**
 * The checks of the providers: one per origin of their accounts, by a connection without a request, so that nothing is paid.
 * An accounts file that is wrong, such as one with a key of both environments, is the only finding then.
 */
function accountChecks(
  settings: ProviderAccountSettings,
  { variables, runs }: CheckContext,
): readonly EnvironmentCheck[] {
  let accounts: readonly ProviderAccount[]
  try {
    accounts = readProviderAccounts(settings, variables)
  } catch (error) {
    return [{ subject: 'provider accounts', run: () => Promise.reject(error) }]
  }
  const calls_sandbox = variables['MULTIHUB_SANDBOX_URL'] !== undefined || !runs('sandbox')
  const called = accounts.filter(
    ({ is_simulated, account_id }) => !is_simulated || (account_id === 'sandbox' && calls_sandbox),
  )
  const by_origin = Map.groupBy(called, ({ base_url }) => new URL(base_url).origin)
  return [...by_origin].map(([origin, same]) => ({
    subject: `provider ${origin}`,
    run: () => checkProvider(origin, same),
  }))
}

async function checkProvider(origin: string, accounts: readonly ProviderAccount[]): Promise<Finding> {
  const names = accounts.map(({ account_id }) => account_id).join(', ')
  const source = accounts.some(({ is_simulated }) => is_simulated)
    ? 'start the sandbox, correct MULTIHUB_SANDBOX_URL, or leave MULTIHUB_SANDBOX_KEY out'
    : `correct base_url in MULTIHUB_PROVIDERS_FILE (${names}), or admit the connection`
  const server = serverOf(origin)
  const options = { limit_ms: LIMIT_MS, advice: source, authority: 'NODE_EXTRA_CA_CERTS' }
  const expires_at = origin.startsWith('https:') ? await inspectCertificate(server, options) : undefined
  if (expires_at === undefined) await reach(server, LIMIT_MS, source)
  if (new Set(accounts.map(({ environment }) => environment)).size > 1)
    return warning(
      `test and production accounts share this host (${names}): check that base_url of each is that of its environment`,
    )
  const text = `can be reached, for ${names}`
  return expires_at === undefined ? ok(text) : withExpiry(text, 'its', expires_at)
}

/**
 * The payment with the secret of its callback address encrypted again, also in the events that wait to be published;
 * the same payment when nothing changes.
 */
export function resealPayment<D extends Pick<StoredPayment, 'webhook' | 'effects' | 'merchant_id' | 'c_id'>>(
  payment: D,
  reseal: Reseal,
): D {
  const { webhook } = payment
  if (webhook === undefined) return payment
  const sealed_secret = reseal('webhook', webhook.sealed_secret, ownerOfWebhookSecret(payment))
  const effects = payment.effects.map((effect) => resealEvent(effect, reseal))
  const is_same =
    sealed_secret === webhook.sealed_secret && effects.every((effect, at) => effect === payment.effects[at])
  return is_same ? payment : { ...payment, webhook: { ...webhook, sealed_secret }, effects }
}

function resealEvent(effect: Effect, reseal: Reseal): Effect {
  const data = publishEventEffect.dataOf(effect)
  if (data === undefined) return effect
  const event = fromBinary(MerchantEventSchema, data.message)
  const { webhook } = event
  if (webhook === undefined) return effect
  const sealed = reseal('webhook', webhook.sealedSecret, webhook.secretOwner)
  if (sealed === webhook.sealedSecret) return effect
  webhook.sealedSecret = sealed
  return { ...effect, data: { ...effect.data, message: toBinary(MerchantEventSchema, event) } }
}

/** A payment of a backup, marked as what must be asked for, with the due times of that. */
function asRestored(payment: StoredPayment): StoredPayment {
  const at = now()
  return withDueTimes(markRestored(payment, at), at)
}

/** Stores what another role knows of a payment. It changes effects, and no runner runs: the next process leases them. */
async function adopt(payments: Collection<StoredPayment>, { id, claim, at }: Requirement): Promise<boolean> {
  const found = await findByAnyId(payments, id)
  if (found === undefined || claim === undefined) return found !== undefined
  const adopted = await update(payments, keyOfPayment(found), (current) => {
    const payment = adoptClaim(current, claim, at)
    return payment === current ? undefined : asRestored(payment)
  })
  return adopted !== undefined && agreesWith(adopted, claim)
}

/**
 * The restored payment after its erasure, or with the mark that it is erased when it has ended again. One that the backup has erased
 * stays: what was erased at its tickets and refunds since has lines of its own.
 */
function eraseRestored(payment: StoredPayment): StoredPayment | undefined {
  if (payment.erased_at !== undefined) return undefined
  if (!hasEnded(payment)) return { ...payment, erase_when_ended: true }
  const erased = erasePayment(payment, 'request', now())
  return withDueTimes(erased, now())
}

/** What the commands of an installation need of payments. */
export const operations: RoleOperations = {
  name: 'payments',
  openCollections: openSealedStore,
  // The ledger and the notifier have what follows from the payments.
  async checkData(store, readDocuments, variables) {
    const { payments } = await openSealedStore(store)
    let opened: ReturnType<typeof openPaymentsStore> | undefined
    return {
      async *listRequirements() {
        for await (const payment of readDocuments<SealedPayment>(PAYMENTS))
          yield* requirementsOfPayment(withoutPerson(payment))
      },
      async find({ id, claim, ...since }) {
        // What another role claims is compared with fields that an archived payment keeps.
        const payment = await findByAnyId(payments, id, { without_body: true })
        if (payment === undefined) return mayHaveEnded(since) ? 'found' : 'missing'
        return claim === undefined || agreesWith(withoutPerson(payment), claim) ? 'found' : 'different'
      },
      // What it adds are events too, which show the whole payment.
      async adopt(requirement) {
        opened ??= openPaymentsStore(
          store,
          readKeys(readConfig(KEY_SETTINGS, variables), ['person', 'search']),
        )
        return adopt((await opened).payments, requirement)
      },
    }
  },
  restoreDocument(collection, document) {
    if (collection === PAYMENTS.name) return asRestored(document as StoredPayment)
    return collection === KNOWN_ACCOUNTS.name ? withRestoredState(document as KnownAccount, now()) : document
  },
  archives: [{ spec: PAYMENTS, list: listArchivable }],
  // It changes neither the number nor the times of effects, so it needs no runner.
  async *reseal(store, readDocuments, keys) {
    const { payments } = await openSealedStore(store)
    yield await resealDocuments<SealedPayment>(
      { readDocuments, keys },
      {
        spec: PAYMENTS,
        change: (payment, reseal, person) => resealPerson(resealPayment(payment, reseal), person, keys),
        update: (payment, decide) => update(payments, keyOfPayment(payment), decide),
      },
    )
  },
  async erase(store, readDocuments, erasures, keys) {
    const { payments } = await openPaymentsStore(store, keys)
    let changed = 0
    for await (const { merchant_id, payment_id: id, environment, c_id } of readDocuments<SealedPayment>(
      PAYMENTS,
    )) {
      if (!erasures.includes({ kind: 'payment', merchant_id, id })) continue
      await update(payments, { merchant_id, environment, c_id }, eraseRestored)
      changed += 1
    }
    return changed
  },
  environmentChecks: (context) => accountChecks(readConfig(PAYMENTS_CONFIG, context.variables), context),
}

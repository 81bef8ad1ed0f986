import { describedSetting } from './config.ts'
import { durationSetting, secretSetting, textSetting } from './settings.ts'

/** The address of every listening port. The RPCs, the gateway, payments and the sandbox read it. */
export const HOST_SETTING = describedSetting(
  'The address to which all ports of the process bind.',
  textSetting('MULTIHUB_HOST', '127.0.0.1'),
)

/** The time limit of a create in ms (P5). Payments divides it among the accounts; the gateway waits longer. */
export const CREATE_TIMEOUT_SETTING = describedSetting(
  'How long a create may take at its providers, over all accounts that are tried.',
  durationSetting('MULTIHUB_CREATE_TIMEOUT', { min: 100, max: 60_000, fallback: 30_000 }),
)

/** Signs requests between payments and the sandbox, in both directions. Payments has no sandbox without it. */
export const SANDBOX_KEY_SETTING = describedSetting(
  'The shared key by which payments and the sandbox authenticate each other.',
  secretSetting('MULTIHUB_SANDBOX_KEY'),
)

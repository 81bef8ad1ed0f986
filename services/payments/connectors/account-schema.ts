import { z } from 'zod'
import { isAccountId } from '#lib/contract/provider-account-id.ts'
import type { ConnectorDefinition, CredentialRule } from './connector.ts'
import { CONNECTORS } from './connector-table.ts'

/** An account of the file, valid for its connector. */
export type FileAccount = z.output<ReturnType<typeof accountSchema>>

/** Where a secret comes from: the file itself, or a variable of the process. */
type CredentialSource = { readonly text: string } | { readonly variable: string }

const CREDENTIAL_MAX = 512
const ACCOUNTS_MAX = 1_000

const variableSchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/)
  .refine((name) => !name.startsWith('MULTIHUB_'), 'must not begin with MULTIHUB_, as settings do')

const commonFields = {
  account_id: z
    .string()
    .refine(isAccountId, 'must be 1 to 64 of a-z 0-9 _ - and begin with a letter or digit'),
  environment: z.enum(['test', 'production']),
  base_url: z.string().max(2048).refine(isBaseUrl, 'must be an http(s) URL of host, port and path only'),
}

/** The schema of the accounts file. Each account is checked by the definition of its connector. */
export const accountsFileSchema = z.strictObject({
  accounts: z
    .array(z.looseObject({ connector: z.enum(Object.keys(CONNECTORS)) }).transform(checkByConnector))
    .max(ACCOUNTS_MAX),
})

function checkByConnector(account: { readonly connector: string }, context: z.RefinementCtx): FileAccount {
  const definition = CONNECTORS[account.connector]
  const parsed = definition && accountSchema(account.connector, definition).safeParse(account)
  for (const { path, message } of parsed?.error?.issues ?? [])
    context.issues.push({ code: 'custom', path: [...path], message, input: undefined })
  return parsed?.data ?? z.NEVER
}

function accountSchema(connector: string, { credentials, environments, settings }: ConnectorDefinition) {
  const secretFields: Record<string, z.ZodOptional<z.ZodString>> = {}
  for (const [name, rule] of Object.entries(credentials)) {
    const message = `must have ${rule.length_min} to ${CREDENTIAL_MAX} characters that the protocol can carry`
    const secret = z.string().refine((text) => isCredential(text, rule), message)
    secretFields[name] = secret.optional()
    secretFields[`${name}_env`] = variableSchema.optional()
  }
  return z
    .strictObject({
      ...commonFields,
      connector: z.literal(connector),
      settings: settings.prefault({}),
      ...secretFields,
    })
    .transform(({ account_id, environment, base_url, settings: given, ...rest }, context) => {
      const refuse = (field: string, message: string): void =>
        context.addIssue({ code: 'custom', path: [field], message })
      const fields: Readonly<Record<string, unknown>> = rest
      const sources: Record<string, CredentialSource> = {}
      for (const name of Object.keys(credentials)) {
        const text = fields[name]
        const variable = fields[`${name}_env`]
        if ((text === undefined) === (variable === undefined))
          refuse(name, `exactly one of ${name} and ${name}_env is needed`)
        sources[name] = typeof text === 'string' ? { text } : { variable: String(variable) }
      }
      if (!environments.includes(environment))
        refuse('connector', `the ${connector} connector cannot be used in ${environment}`)
      if (environment === 'production' && !base_url.startsWith('https:'))
        refuse('base_url', 'a production account needs https')
      return { account_id, connector, environment, base_url, settings: given, credentials: sources }
    })
}

/** Whether a text can be the secret of an account. */
export function isCredential(text: string, { length_min, pattern = /^/ }: CredentialRule): boolean {
  return text.length >= length_min && text.length <= CREDENTIAL_MAX && pattern.test(text)
}

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

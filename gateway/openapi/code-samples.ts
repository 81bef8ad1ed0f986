import { lowerFirst, snakeCase } from '#lib/base/letter-case.ts'
import { createsPayment, methodTitle, RESEND_METHOD } from '#lib/contract/methods.ts'
import { RESEND_REQUEST_PREFIX, V2_REQUEST_PREFIX } from '../auth/signature-schemes.ts'
import type { PublicMethodName } from '../methods/method.ts'
import { resendPath, V1_PATH, V2_PATH } from '../paths.ts'

/** A program that calls a method, as Redoc and other renderers show it. */
interface CodeSample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/** A request as the examples of the reference have it. */
type Request = Readonly<Record<string, unknown>>

/** The programs that send a request of a method: one with curl and openssl, and one for each client. */
export function codeSamples(
  name: PublicMethodName,
  request: Request,
  scheme: 'v1' | 'v2',
): readonly CodeSample[] {
  const { method: _, ...envelope } = request
  const call = { name, envelope, title: methodTitle(name, '') }
  return [
    { lang: 'Shell', label: 'curl', source: curl(name, request, scheme) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
    { lang: 'PHP', label: 'PHP', source: php(call) },
    { lang: 'Go', label: 'Go', source: go(call) },
  ].map((sample) => ({ ...sample, source: `${needsOf(sample.label, request)}\n${sample.source}` }))
}

/** What a reader who copies a sample must have, as its first lines. */
const NEEDS: Readonly<Record<string, string>> = {
  curl: '# Needs BASE_URL, APPLICATION_ID and SECRET in the environment.',
  TypeScript: '// const client = new Client({ base_url, application_id, secret, version })',
  Python:
    '# client = multihub_client.Client(multihub_client.Settings(base_url, application_id, secret, version))',
  PHP: '// $client = new Multihub\\Client\\Client(new Multihub\\Client\\Settings($baseUrl, $applicationId, $secret, $version));',
  Go: '// client, err := multihub.NewClient(multihub.Settings{BaseURL: …, ApplicationID: …, Secret: …, Version: …})',
}

/** The route of an example is not a route of the reader. */
function needsOf(label: string, { service_id }: Request): string {
  const needs = NEEDS[label] ?? ''
  if (service_id === undefined) return needs
  return `${needs}\n${needs.slice(0, 2).trim()} Use a service_id of your own instead of ${service_id}.`
}

interface ClientCall {
  readonly name: PublicMethodName
  /** The request without the name of the method. */
  readonly envelope: Request
  /** `PaymentIn` for `payment.in`. */
  readonly title: string
}

/** The end of a pipe that prints a digest without the name of its input. */
const CUT = `-r | cut -d' ' -f1`

/** `v2` and `resend` cover a timestamp and a nonce. A v2 credential must send the pair on the resend path too. */
const SHELL_SIGNATURES: Readonly<Record<'v1' | 'v2' | 'resend', (path: string) => readonly string[]>> = {
  v1: () => [`hash=$(printf '%s%s' "$body" "$SECRET" | openssl dgst -sha512 ${CUT})`],
  v2: (path) => [
    ...REPLAY_PAIR,
    `digest=$(printf '%s' "$body" | openssl dgst -sha256 ${CUT})`,
    `signature=$(printf '${V2_REQUEST_PREFIX}\\n%s\\nPOST\\n${path}\\n%s\\n%s\\n%s' \\`,
    `  "$APPLICATION_ID" "$timestamp" "$nonce" "$digest" | openssl dgst -sha512 -hmac "$SECRET" ${CUT})`,
  ],
  resend: (path) => [
    ...REPLAY_PAIR,
    `hash=$(printf '${RESEND_REQUEST_PREFIX}\\nPOST\\n${path}\\n%s\\n%s\\n\\n%s%s' \\`,
    `  "$timestamp" "$nonce" "$body" "$SECRET" | openssl dgst -sha512 ${CUT})`,
  ],
}

const REPLAY_PAIR = ['timestamp=$(date +%s)', 'nonce=$(openssl rand -hex 16)']

function curl(name: PublicMethodName, request: Request, version: 'v1' | 'v2'): string {
  const path = pathOf(name, request, version)
  const scheme = name === RESEND_METHOD ? 'resend' : version
  const pair = ['X-Data-Timestamp: $timestamp', 'X-Data-Nonce: $nonce']
  const headers = [
    'Content-Type: application/json',
    'X-Data-Application-Id: $APPLICATION_ID',
    ...(scheme === 'v1' ? [] : pair),
    scheme === 'v2' ? 'X-Data-Signature: $signature' : 'X-Data-Hash: $hash',
  ]
  return [
    `body='${JSON.stringify(request)}'`,
    ...SHELL_SIGNATURES[scheme](path),
    `curl -s "$BASE_URL${path}" --data-binary "$body" \\`,
    headers.map((line) => `  -H "${line}"`).join(' \\\n'),
  ].join('\n')
}

function pathOf(name: PublicMethodName, request: Request, scheme: 'v1' | 'v2'): string {
  if (name === RESEND_METHOD) return resendPath(String(request['payment_id']))
  return scheme === 'v1' ? V1_PATH : V2_PATH
}

function typescript({ name, envelope, title }: ClientCall): string {
  const literal = JSON.stringify(envelope, undefined, 2)
    .replaceAll(/^( *)"(\w+)":/gm, '$1$2:')
    // Amounts of payments are bigints in this client.
    .replace(/^( *value: \d+)/m, '$1n')
  const call = callOf(name, literal, lowerFirst(title), ['createPayment', 'resendWebhook'], envelope)
  return `const result = await client.${call}`
}

function python({ name, envelope, title }: ClientCall): string {
  const literal = JSON.stringify(envelope, undefined, 4)
  return `result = client.${callOf(name, literal, snakeCase(title), ['create_payment', 'resend_webhook'], envelope)}`
}

function php({ name, envelope, title }: ClientCall): string {
  const names = ['createPayment', 'resendWebhook'] as const
  return `$result = $client->${callOf(name, phpLiteral(envelope), lowerFirst(title), names, envelope)};`
}

/** A create survives a lost answer when it is called by the name of its own function. */
function callOf(
  name: PublicMethodName,
  literal: string,
  own: string,
  [create, resend]: readonly [string, string],
  { payment_id, operation_id }: Request,
): string {
  if (name === RESEND_METHOD) return `${resend}('${payment_id}', '${operation_id}')`
  return createsPayment(name) ? `${create}('${name}', ${literal})` : `${own}(${literal})`
}

function go({ name, envelope, title }: ClientCall): string {
  const { payment_id, operation_id } = envelope
  if (name === RESEND_METHOD)
    return `result, err := client.ResendWebhook(ctx, "${payment_id}", "${operation_id}")`
  const call = createsPayment(name) ? 'CreatePayment' : title
  return [
    `var request multihub.${title}Request`,
    `err := json.Unmarshal([]byte(\`${JSON.stringify(envelope, undefined, 2)}\`), &request)`,
    '// Handle err.',
    `result, err := client.${call}(ctx, request)`,
  ].join('\n')
}

function phpLiteral(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return phpScalar(value)
  const inner = `${indent}    `
  const is_list = Array.isArray(value)
  const entries = Object.entries(value).map(
    ([key, item]) => `${inner}${is_list ? '' : `'${key}' => `}${phpLiteral(item, inner)},\n`,
  )
  return entries.length === 0 ? '[]' : `[\n${entries.join('')}${indent}]`
}

function phpScalar(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll(/[\\']/g, (letter) => `\\${letter}`)}'`
    : JSON.stringify(value)
}

import { CALLBACK_PORTS_REFUSED, CALLBACK_URL_LENGTH_MAX, PRIVATE_SUFFIXES } from '#lib/http/callback-url.ts'

const NUMBER = new Intl.NumberFormat('en-US')

/** The rules for a `webhook_url` and for the URL of an endpoint (N9). */
export function callbackUrlTable(): string {
  const ports = [...CALLBACK_PORTS_REFUSED].join(', ')
  const suffixes = PRIVATE_SUFFIXES.map((suffix) => `\`.${suffix}\``).join(', ')
  const rules: readonly (readonly [part: string, rule: string])[] = [
    ['scheme', '`https`; in the test environment also `http`'],
    [
      'host name',
      `at least two labels of letters, digits, hyphens and underscores, without a dot at the end; international names in punycode (\`xn--\`); not under ${suffixes}`,
    ],
    ['IP address', 'a public one, in its usual spelling'],
    ['port', `none, 80, 443, or from 1024 except ${ports}`],
    [
      'path and query',
      'visible ASCII without backslashes; percent-encode all other characters, but no control characters',
    ],
    ['user info, fragment', 'not permitted'],
    ['length', `at most ${NUMBER.format(CALLBACK_URL_LENGTH_MAX)} characters`],
  ]
  return ['| Part | Rule |', '|---|---|', ...rules.map(([part, rule]) => `| ${part} | ${rule} |`)].join('\n')
}

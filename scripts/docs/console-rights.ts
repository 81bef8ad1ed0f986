import { nameOfRpc, OPERATOR_RPCS } from '../../services/backoffice/domain/operator-rpcs.ts'

/** The rules of the operator's RPCs as a module of the console, which offers nobody what the back office would refuse. */
export function consoleRights(): string {
  const rows = OPERATOR_RPCS.map(({ method, rights, changes, merchant }) => {
    const words = [...rights, ...(changes ? ['changes'] : []), ...(merchant ? ['merchants'] : [])]
    return `  '${nameOfRpc(method).replace('multihub.', '')}': '${words.join(' ')}',\n`
  })
  return `/* Made by npm run docs from services/backoffice/domain/operator-rpcs.ts. */

/**
 * Every RPC of the operator with the rights that open it, \`changes\` if it changes something, and \`merchants\` if principals
 * of merchants may call it.
 */
export const OPERATOR_RIGHTS: Readonly<Record<string, string>> = {
${rows.join('')}}
`
}

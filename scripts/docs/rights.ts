import {
  type MerchantSource,
  nameOfRpc,
  OPERATOR_RPCS,
} from '../../services/backoffice/domain/operator-rpcs.ts'
import type { Table } from './limits.ts'

/** The operator's RPCs as a table: which right each needs, and where its merchant comes from. */
export function rightsTable(): Table {
  const rows = OPERATOR_RPCS.map(({ method, rights, changes, merchant }) => [
    `\`${nameOfRpc(method).replace('multihub.', '')}\``,
    rights.map((right) => `\`${right}\``).join(' or '),
    changes ? 'yes' : '',
    merchant === undefined ? '' : MERCHANT_TEXTS[merchant.from],
  ])
  return [['RPC (`multihub.…`)', 'Right', 'Changes', 'Merchant'], ...rows]
}

const MERCHANT_TEXTS: Readonly<Record<MerchantSource['from'], string>> = {
  request: 'in the request',
  answer: 'in the answer',
  'look-up': 'by a look-up',
  'own list': 'in its own list',
  principal: 'its own',
}

import { z } from 'zod'
import { describedSetting, optionalSetting, setting } from '#lib/base/config/config.ts'
import type { ClamdAddress } from './scan-stream.ts'

/** The virus scanner: the address of clamd, or `none` to accept files without a scan. */
export type Scanner = ClamdAddress | 'none'

/** The word that accepts files without a scan. Only a local run permits it (F5). */
export const NO_SCANNER = 'none'

const TCP = /^clamd:\/\/([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):(\d{1,5})$/
const UNIX = /^unix:(\/.{1,100})$/

/** Where clamd listens. Without a scanner uploaded files wait, unscanned and unusable (F5). */
export const SCANNER_SETTING = describedSetting(
  'The virus scanner (clamd) of uploaded files. Without one they stay `scanning`. `none` accepts them without a scan; ' +
    'only the local run permits it.',
  optionalSetting(
    setting<Scanner>(
      'MULTIHUB_SCANNER',
      'clamd://host:port, unix:/path/of/clamd.sock, or none',
      z.string().transform((text, { addIssue }): Scanner => {
        if (text === NO_SCANNER) return NO_SCANNER
        const [, host, port] = TCP.exec(text) ?? []
        if (host !== undefined && Number(port) <= 65_535)
          return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
        const [, path] = UNIX.exec(text) ?? []
        if (path !== undefined) return { path }
        addIssue('not a scanner')
        return z.NEVER
      }),
    ),
  ),
)

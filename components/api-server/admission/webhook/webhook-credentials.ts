/** WebhookAdmissionConfiguration: the credentials that the server shows to webhooks (upstream: plugin/webhook/config, util/webhook/authentication.go). */
import { readFileSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { parseKubeconfig } from '../../../client/kubeconfig.ts'
import { document, text } from '../../../machinery/configuration/config-schema.ts'
import {
  ConfigurationError,
  readConfiguration,
} from '../../../machinery/configuration/read-configuration.ts'
import type { Credentials, CredentialsFor } from '../../egress/review-sender.ts'
import { userCredentials } from '../../egress/webhook-client.ts'

const schema = document('WebhookAdmission', { kubeConfigFile: text })

const none: Credentials = {}

/** The names that match `host:port`, best first: the whole, then `*.` and less and less of it; of port 443 also without it. */
function namesOf(target: string): string[] {
  const withStars = (name: string): string[] => {
    const steps = name.split('.')
    return [name, ...steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join('.')}`)]
  }
  const withoutPort = target.endsWith(':443') ? target.slice(0, -':443'.length) : undefined
  return [...withStars(target), ...(withoutPort === undefined ? [] : withStars(withoutPort))]
}

/** Reads the kubeconfig that it names, too. Rejects with ConfigurationError. */
export async function parseWebhookConfiguration(
  source: string,
  { dialect }: { readonly dialect: Dialect },
): Promise<CredentialsFor> {
  const { kubeConfigFile: path = '' } = readConfiguration<{ kubeConfigFile?: string }>(source, {
    kind: 'WebhookAdmissionConfiguration',
    group: apiGroup(dialect, 'apiserver.config'),
    versions: ['v1'],
    schema,
  })
  if (path === '') return () => none
  if (!isAbsolute(path)) {
    throw new ConfigurationError(`kubeConfigFile must be an absolute path, but got "${path}"`)
  }
  try {
    const { users } = await parseKubeconfig(readFileSync(path, 'utf8'))
    const known = new Map(
      users.map(({ name, user }) => {
        if (user.exec !== undefined) throw new Error(`user "${name}": exec is not supported`)
        return [name, userCredentials(user, dirname(path))]
      }),
    )
    return (target) => known.get(namesOf(target).find((name) => known.has(name)) ?? '') ?? none
  } catch (error) {
    const why = (error as Error).message
    throw new ConfigurationError(`kubeConfigFile: ${path}: ${why}`, { cause: error })
  }
}

/** Token Secrets: fills Secrets of the service account token type, and removes those whose account is gone (upstream: tokens_controller). */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Secret, ServiceAccount } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import type { Informer } from '../../client/informer.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { isGone } from '../../client/is-gone.ts'
import { StartError } from '../../component-base/component.ts'
import type { Log } from '../../component-base/log.ts'
import { deepEqual, splitKey } from '../../machinery/objects/object.ts'
import { isStatusError } from '../../machinery/objects/status-error.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { createTokenSigner, legacyClaims } from './legacy-token.ts'
import type { TokenSigner } from './legacy-token.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** The `namespace/name` of the account a Secret belongs to; undefined when it names none. */
function accountKey(secret: Secret, dialect: Dialect): string | undefined {
  const name = secret.metadata.annotations?.[labelKey(dialect, '', 'service-account.name')]
  return name ? `${secret.metadata.namespace ?? ''}/${name}` : undefined
}

/** Whether the Secret is the account's: of its name, and of its uid if the Secret names one. */
export function belongsTo(secret: Secret, account: ServiceAccount, dialect: Dialect): boolean {
  const uid = secret.metadata.annotations?.[labelKey(dialect, '', 'service-account.uid')]
  return !uid || uid === account.metadata.uid
}

/** The Secret as it must be: with its token, the authority, the namespace and the account's uid. */
export function filledSecret(
  secret: Secret,
  account: ServiceAccount,
  with_: { readonly signer: TokenSigner; readonly ca: string; readonly dialect: Dialect },
): Secret {
  const { signer, ca, dialect } = with_
  const { namespace = '', name = '' } = secret.metadata
  const { name: accountName = '', uid = '' } = account.metadata
  const claims = legacyClaims(
    { namespace, secret: name, account: { name: accountName, uid } },
    dialect,
  )
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      annotations: {
        ...secret.metadata.annotations,
        [labelKey(dialect, '', 'service-account.uid')]: uid,
      },
    },
    data: {
      ...secret.data,
      ...(ca === '' ? {} : { 'ca.crt': base64(ca) }),
      namespace: base64(namespace),
      token: secret.data?.['token'] || base64(signer.sign(claims)),
    },
  }
}

async function load({ options, files }: Pick<ControllerContext, 'options' | 'files'>) {
  const read = (path: string): Promise<string> =>
    files.read(path).catch((error: unknown) => {
      throw new StartError(`cannot read ${path}`, error)
    })
  const keyFile = options['service-account-private-key-file']
  const caFile = options['root-ca-file']
  if (keyFile === undefined) return undefined
  const ca = caFile === undefined ? '' : await read(caFile)
  return { signer: createTokenSigner(await read(keyFile)), ca }
}

/** The Secrets of service account tokens. */
export function tokenSecretInformer({
  informers,
  resources,
  dialect,
}: Pick<ControllerContext, 'informers' | 'resources' | 'dialect'>): Informer<Secret> {
  return informers.informer<Secret>(resources.secrets, {
    fieldSelector: `type=${labelKey(dialect, '', 'service-account-token')}`,
  })
}

/** The reconciler's caches, clients and tools. */
interface TokenSync {
  readonly secrets: ResourceClient<Secret>
  readonly accounts: ResourceClient<ServiceAccount>
  readonly tokens: Informer<Secret>
  readonly owners: Informer<ServiceAccount>
  readonly dialect: Dialect
  readonly log: Log
  readonly signal: AbortSignal
}

export const serviceAccountTokens: ControllerEntry = {
  name: 'serviceaccount-token-controller',
  aliases: ['serviceaccount-token'],
  defaultOn: true,
  start: async (context, signal) => {
    const { client, informers, dialect, resources, clock, log, queues } = context
    const secrets = client.resource<Secret>(resources.secrets)
    const accounts = client.resource<ServiceAccount>(resources.serviceAccounts)
    const tokens = tokenSecretInformer({ informers, resources, dialect })
    const owners = informers.informer<ServiceAccount>(resources.serviceAccounts)
    tokens.addIndex('account', (secret) => [accountKey(secret, dialect) ?? ''])
    owners.addIndex('secret', ({ metadata, secrets: references = [] }) =>
      references.map(({ name }) => `${metadata.namespace}/${name}`),
    )
    const loaded = await load(context)
    if (loaded === undefined) {
      log.warn('no key to sign tokens with: --service-account-private-key-file is not set')
      return
    }
    const sync: TokenSync = { secrets, accounts, tokens, owners, dialect, log, signal }
    const tokensOf = ({ metadata }: ServiceAccount): string[] =>
      tokens
        .byIndex('account', `${metadata.namespace}/${metadata.name}`)
        .map((secret) => `${secret.metadata.namespace}/${secret.metadata.name}`)
    await runController(
      {
        queues,
        name: 'serviceaccount-token-controller',
        informers: [source(tokens), source(owners, tokensOf)],
        reconcile: (key) => syncSecret(sync, key, { ...loaded, dialect }),
        workers: context.options['concurrent-serviceaccount-token-syncs'],
        clock,
        log,
      },
      signal,
    )
  },
}

async function syncSecret(
  sync: TokenSync,
  key: string,
  filling: Parameters<typeof filledSecret>[2],
): Promise<void> {
  const { secrets, tokens, owners, dialect, signal } = sync
  const secret = tokens.get(key)
  if (secret === undefined) {
    await removeReferences(sync, key)
    return
  }
  const owner = accountKey(secret, dialect)
  if (owner === undefined || secret.metadata.deletionTimestamp !== undefined) return
  const account = owners.get(owner)
  if (account === undefined || !belongsTo(secret, account, dialect)) {
    await deleteOrphan(sync, key, secret)
    return
  }
  const wanted = filledSecret(secret, account, filling)
  if (!deepEqual(wanted, secret)) await secrets.update(wanted, { signal })
}

async function deleteOrphan(
  { secrets, accounts, dialect, log, signal }: TokenSync,
  key: string,
  secret: Secret,
): Promise<void> {
  const account = splitKey(accountKey(secret, dialect) ?? '')
  try {
    // The cache may not have the account yet; only the server knows that it is not there.
    const live = await accounts.get(account, { signal })
    if (belongsTo(secret, live, dialect)) return
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
  const { uid } = secret.metadata
  try {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } }
    await secrets.delete(splitKey(key), { ...preconditions, signal })
    log.info('token of a deleted service account removed', { secret: key })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}

/** Removes a deleted Secret from the accounts that list it. */
async function removeReferences(
  { accounts, owners, signal }: TokenSync,
  key: string,
): Promise<void> {
  for (const account of owners.byIndex('secret', key)) {
    const { name } = splitKey(key)
    const kept = (account.secrets ?? []).filter((reference) => reference.name !== name)
    await accounts.update({ ...account, secrets: kept }, { signal })
  }
}

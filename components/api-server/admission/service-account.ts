/**
 * ServiceAccount: every pod runs as an account that exists, with its token mounted unless it opts out (upstream:
 * plugin/pkg/admission/serviceaccount).
 */
import type { Dialect } from '../../api/dialect.ts'
import { labelKey, serviceAccountFolder } from '../../api/dialect.ts'
import type { Container, Pod, PodSpec, ServiceAccount, Volume } from '../../api/generated/types.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import { projectedTokenSeconds } from '../authn/service-account-issuer.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { podSecrets } from '../../api/pod-references.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

const defaultAccount = 'default'
const volumePrefix = 'kube-api-access-'
/** A controller creates a new namespace's default account, which may take a moment. */
const DEFAULT_ACCOUNT_WAIT_MS = 1500
/** Letters and digits that form no words (upstream: apimachinery util/rand). */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789'
const FILE_MODE = 0o644

function randomSuffix(clock: Clock): string {
  return Array.from({ length: 5 }, () =>
    suffixAlphabet.charAt(Math.floor(clock.random() * suffixAlphabet.length)),
  ).join('')
}

/** The token, the cluster's CA and the pod's namespace, as files. */
function accessVolume(name: string, rootCaConfigMap: string): Volume {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: projectedTokenSeconds, path: 'token' } },
        { configMap: { name: rootCaConfigMap, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [
              {
                path: 'namespace',
                fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
              },
            ],
          },
        },
      ],
      defaultMode: FILE_MODE,
    },
  }
}

function mountToken(
  spec: PodSpec,
  at: { mountPath: string; dialect: Dialect; clock: Clock },
): void {
  const { mountPath, dialect, clock } = at
  const existing = spec.volumes?.find(({ name }) => name.startsWith(volumePrefix))
  const name = existing?.name ?? volumePrefix + randomSuffix(clock)
  const withMount = (container: Container): Container =>
    container.volumeMounts?.some((mount) => mount.mountPath === mountPath)
      ? container
      : {
          ...container,
          volumeMounts: [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }],
        }
  const isMounted = ({ volumeMounts }: Container): boolean =>
    volumeMounts?.some((mount) => mount.name === name) === true
  if (spec.initContainers) spec.initContainers = spec.initContainers.map(withMount)
  // Validation rejects a pod without containers later.
  const containers = (spec.containers as Container[] | null) ?? []
  spec.containers = containers.map(withMount)
  const isNeeded = [...(spec.initContainers ?? []), ...spec.containers].some(isMounted)
  if (existing === undefined && isNeeded) {
    spec.volumes = [...(spec.volumes ?? []), accessVolume(name, dialect.rootCaConfigMap)]
  }
}

/** Why a mirror pod, which its node creates, is rejected; undefined if it is not. */
function whyNotMirror(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return 'a mirror pod may not reference service accounts'
  if (podSecrets(spec).length > 0) return 'a mirror pod may not reference secrets'
  for (const { persistentVolumeClaim, projected } of spec.volumes ?? []) {
    if (persistentVolumeClaim) return 'a mirror pod may not reference persistentvolumeclaims'
    if (projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken)) {
      return 'a mirror pod may not use ServiceAccountToken volume projections'
    }
  }
  return undefined
}

/** A use of a Secret by a part of a pod. */
interface SecretUse {
  readonly by: string
  readonly name: string | undefined
}

function secretsOf(containers: readonly Container[] | undefined, what: string): SecretUse[] {
  return (containers ?? []).flatMap(({ name: container, env, envFrom }) => [
    ...(env ?? []).map(({ name, valueFrom }) => ({
      by: `${what} ${container} with envVar ${name} referencing`,
      name: valueFrom?.secretKeyRef?.name,
    })),
    ...(envFrom ?? []).map(({ secretRef }) => ({
      by: `${what} ${container} with envFrom referencing`,
      name: secretRef?.name,
    })),
  ])
}

/** The Secrets of a new pod, or of the ephemeral containers added to one that runs. */
function checkedSecrets(spec: PodSpec, subresource: string): SecretUse[] {
  if (subresource !== '') return secretsOf(spec.ephemeralContainers, 'ephemeral container')
  return [
    ...(spec.volumes ?? []).map(({ secret }) => ({ by: 'volume with', name: secret?.secretName })),
    ...secretsOf(spec.initContainers, 'init container'),
    ...secretsOf(spec.containers, 'container'),
  ]
}

/** Why an account that lists its Secrets rejects the pod; undefined if it does not. */
function whySecretsExceed(
  spec: PodSpec,
  subresource: string,
  account: ServiceAccount,
): string | undefined {
  const name = account.metadata.name ?? ''
  const mountable = new Set(account.secrets?.map((secret) => secret.name))
  for (const { by, name: used } of checkedSecrets(spec, subresource)) {
    if (!used || mountable.has(used)) continue
    return `${by} secret.secretName="${used}" is not allowed because service account ${name} does not reference that secret`
  }
  if (subresource !== '') return undefined
  const pullable = new Set(account.imagePullSecrets?.map((secret) => secret.name))
  for (const [index, { name: used }] of (spec.imagePullSecrets ?? []).entries()) {
    if (!pullable.has(used)) {
      return `imagePullSecrets[${index}].name="${used ?? ''}" is not allowed because service account ${name} does not reference that imagePullSecret`
    }
  }
  return undefined
}

/** The texts that Go's strconv.ParseBool reads as true. */
const truths: ReadonlySet<string | undefined> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])

interface AccountOptions {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly clock: Clock
}

function storedAccount(
  { reader, dialect }: AccountOptions,
  { namespace, name }: { namespace: string; name: string },
): ServiceAccount | undefined {
  const { serviceAccounts } = resourcesOf(dialect)
  return reader.get(serviceAccounts, namespace, name) as ServiceAccount | undefined
}

/** Waits until the account exists; undefined when it still does not after the time limit. */
function awaitAccount(
  options: AccountOptions,
  at: { namespace: string; name: string },
): Promise<ServiceAccount | undefined> {
  const { reader, dialect, clock } = options
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel()
      stop()
      resolve(storedAccount(options, at))
    }
    const cancel = clock.after(DEFAULT_ACCOUNT_WAIT_MS, finish)
    const stop = reader.onChange(resourcesOf(dialect).serviceAccounts, ({ key, type }) => {
      if (key === `${at.namespace}/${at.name}` && type !== 'DELETED') queueMicrotask(finish)
    })
  })
}

/** The account that the pod runs as. Throws a 403 without one. */
function requireAccount(
  account: ServiceAccount | undefined,
  { name, request }: { name: string; request: AdmissionRequest },
): ServiceAccount {
  if (account !== undefined) return account
  const why = `error looking up service account ${request.namespace}/${name}: serviceaccount ${goQuote(name)} not found`
  throw admissionForbidden(request, why)
}

/** Gives the pod the account's token and image pull secrets. */
function applyAccount(
  options: AccountOptions,
  { spec, account }: { spec: PodSpec; account: ServiceAccount },
): void {
  const { dialect, clock } = options
  const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
  if (mounts) mountToken(spec, { mountPath: serviceAccountFolder(dialect), dialect, clock })
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
    spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }))
  }
}

function isMirror(pod: Pod, dialect: Dialect): boolean {
  return pod.metadata.annotations?.[labelKey(dialect, '', 'config.mirror')] !== undefined
}

function checkMirror(request: AdmissionRequest, spec: PodSpec): void {
  const why = whyNotMirror(spec)
  if (why !== undefined) throw admissionForbidden(request, why)
}

/** Sets the account of a new pod. Only a default account may come late. */
function assignAccount(
  options: AccountOptions,
  { request, spec }: { request: AdmissionRequest; spec: PodSpec },
): void | Promise<void> {
  const name = spec.serviceAccountName || defaultAccount
  spec.serviceAccountName = name
  spec.serviceAccount = name
  const at = { namespace: request.namespace, name }
  const stored = storedAccount(options, at)
  const apply = (account: ServiceAccount | undefined): void =>
    applyAccount(options, { spec, account: requireAccount(account, { name, request }) })
  if (stored === undefined && name === defaultAccount) {
    return awaitAccount(options, at).then(apply)
  }
  if (stored !== undefined) return apply(stored)
  const refreshed = options.reader.refresh?.()
  return refreshed === undefined
    ? apply(undefined)
    : refreshed.then(() => apply(storedAccount(options, at)))
}

/** An account with the annotation lets its pods use only the Secrets that it lists. */
function checkSecrets(
  options: AccountOptions,
  { request, spec }: { request: AdmissionRequest; spec: PodSpec },
): void {
  const name = spec.serviceAccountName ?? ''
  const stored = storedAccount(options, { namespace: request.namespace, name })
  const account = requireAccount(stored, { name, request })
  const annotation = labelKey(options.dialect, '', 'enforce-mountable-secrets')
  if (!truths.has(account.metadata.annotations?.[annotation])) return
  const why = whySecretsExceed(spec, request.subresource, account)
  if (why !== undefined) throw admissionForbidden(request, why)
}

export function serviceAccountAdmission(options: AccountOptions): AdmissionPlugin {
  const { dialect } = options
  const { pods } = resourcesOf(dialect)
  return {
    name: 'ServiceAccount',
    mutate(request) {
      const { operation, resource, subresource } = request
      const pod = request.object as Pod | undefined
      if (operation !== 'CREATE' || resource !== pods || subresource !== '' || !pod?.spec) return
      const { spec } = pod
      if (!isMirror(pod, dialect)) return assignAccount(options, { request, spec })
      checkMirror(request, spec)
    },
    // When every plugin has changed the pod, and for ephemeral containers that are added to one that runs.
    validate(request) {
      const { operation, resource, subresource } = request
      const pod = request.object as Pod | undefined
      const isNew = operation === 'CREATE' && subresource === ''
      const isAddition = operation === 'UPDATE' && subresource === 'ephemeralcontainers'
      if (resource !== pods || !pod?.spec || !(isNew || isAddition)) return
      if (!isMirror(pod, dialect)) checkSecrets(options, { request, spec: pod.spec })
    },
  }
}

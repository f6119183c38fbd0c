/** ServiceAccount: every pod runs as an account that exists, with its token mounted unless it opts out. */
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
/** A new namespace's default account is made by a controller, which may take a moment. */
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
  // A pod without containers is refused later, by validation.
  const containers = (spec.containers as Container[] | null) ?? []
  spec.containers = containers.map(withMount)
  const isNeeded = [...(spec.initContainers ?? []), ...spec.containers].some(isMounted)
  if (existing === undefined && isNeeded) {
    spec.volumes = [...(spec.volumes ?? []), accessVolume(name, dialect.rootCaConfigMap)]
  }
}

/** Why a mirror pod, which its node makes on its own, is refused. */
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

/** What a new pod is asked about, or what is added to one that runs. */
function checkedSecrets(spec: PodSpec, subresource: string): SecretUse[] {
  if (subresource !== '') return secretsOf(spec.ephemeralContainers, 'ephemeral container')
  return [
    ...(spec.volumes ?? []).map(({ secret }) => ({ by: 'volume with', name: secret?.secretName })),
    ...secretsOf(spec.initContainers, 'init container'),
    ...secretsOf(spec.containers, 'container'),
  ]
}

/** Why an account that lists its Secrets does not let the pod use others. */
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

/** What Go reads as true. */
const truths: ReadonlySet<string | undefined> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])

export function serviceAccountAdmission(options: {
  reader: ObjectReader
  dialect: Dialect
  clock: Clock
}): AdmissionPlugin {
  const { reader, dialect, clock } = options
  const { pods, serviceAccounts } = resourcesOf(dialect)
  const mirrorAnnotation = labelKey(dialect, '', 'config.mirror')
  const enforceAnnotation = labelKey(dialect, '', 'enforce-mountable-secrets')
  const mountPath = serviceAccountFolder(dialect)

  /** The account, once it is there; undefined when it is not after a while. */
  function awaitAccount(namespace: string, name: string): Promise<ServiceAccount | undefined> {
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel()
        stop()
        resolve(reader.get(serviceAccounts, namespace, name) as ServiceAccount | undefined)
      }
      const cancel = clock.after(DEFAULT_ACCOUNT_WAIT_MS, finish)
      const stop = reader.onChange(serviceAccounts, ({ key, type }) => {
        if (key === `${namespace}/${name}` && type !== 'DELETED') queueMicrotask(finish)
      })
    })
  }

  function found(
    account: ServiceAccount | undefined,
    name: string,
    request: AdmissionRequest,
  ): ServiceAccount {
    if (account !== undefined) return account
    const why = `error looking up service account ${request.namespace}/${name}: serviceaccount ${goQuote(name)} not found`
    throw admissionForbidden(request, why)
  }

  function apply(
    request: AdmissionRequest,
    spec: PodSpec,
    known: ServiceAccount | undefined,
  ): void {
    const account = found(known, spec.serviceAccountName ?? '', request)
    const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
    if (mounts) mountToken(spec, { mountPath, dialect, clock })
    if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
      spec.imagePullSecrets = account.imagePullSecrets.map((secret) => ({ ...secret }))
    }
  }

  return {
    name: 'ServiceAccount',
    mutate(request) {
      const { operation, resource, subresource, namespace } = request
      const pod = request.object as Pod | undefined
      if (operation !== 'CREATE' || resource !== pods || subresource !== '' || !pod?.spec) return
      const { spec } = pod
      if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) {
        const why = whyNotMirror(spec)
        if (why !== undefined) throw admissionForbidden(request, why)
        return
      }
      const name = spec.serviceAccountName || defaultAccount
      spec.serviceAccountName = name
      spec.serviceAccount = name
      const account = reader.get(serviceAccounts, namespace, name) as ServiceAccount | undefined
      if (account === undefined && name === defaultAccount) {
        return awaitAccount(namespace, name).then((late) => {
          apply(request, spec, late)
        })
      }
      apply(request, spec, account)
    },
    // After all that may have changed the pod, and for what is added to one that runs.
    validate(request) {
      const { operation, resource, subresource, namespace } = request
      const pod = request.object as Pod | undefined
      const isNew = operation === 'CREATE' && subresource === ''
      const isAddition = operation === 'UPDATE' && subresource === 'ephemeralcontainers'
      if (resource !== pods || !pod?.spec || !(isNew || isAddition)) return
      if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return
      const { spec } = pod
      const name = spec.serviceAccountName ?? ''
      const known = reader.get(serviceAccounts, namespace, name) as ServiceAccount | undefined
      const account = found(known, name, request)
      if (!truths.has(account.metadata.annotations?.[enforceAnnotation])) return
      const why = whySecretsExceed(spec, subresource, account)
      if (why !== undefined) throw admissionForbidden(request, why)
    },
  }
}

import { afterEach, describe, expect, it } from 'vitest'
import type { Pod, Secret } from '../../../components/api/generated/types.ts'
import { legacyTokenCleaner } from '../../../components/controller-manager/service-accounts/legacy-token-cleaner.ts'
import {
  internalError,
  tooManyRequests,
} from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const day = 86_400_000
const type = 'kubernetes.io/service-account-token'
const [lastUsed, invalidSince] = [
  'kubernetes.io/legacy-token-last-used',
  'kubernetes.io/legacy-token-invalid-since',
]

let harness: ReconcilerHarness
afterEach(async () => {
  await harness?.stop()
})

interface Given {
  readonly labels?: Record<string, string>
  readonly created?: string
  readonly type?: string
  /** The account's list of Secrets. */
  readonly listed?: readonly string[]
  readonly uid?: string
  /** A pod that mounts the Secret. */
  readonly isMounted?: boolean
  /** The day in the ConfigMap; null for none. */
  readonly since?: string | null
}

/** Tokens may be unused for ten days; it is the first of January 2025. */
function prepare(given: Given): void {
  harness = createReconcilerHarness({
    flags: { 'legacy-service-account-token-clean-up-period': 10 * day },
  })
  const { cluster, resources } = harness
  const { listed = ['token'], since = '2024-12-01' } = given
  cluster.seed(resources.serviceAccounts, {
    metadata: { namespace: 'default', name: 'robot', uid: 'u' },
    secrets: listed.map((name) => ({ name })),
  })
  cluster.seed(resources.secrets, {
    metadata: {
      namespace: 'default',
      name: 'token',
      creationTimestamp: given.created ?? '2024-06-01T00:00:00Z',
      ...(given.labels === undefined ? {} : { labels: given.labels }),
      annotations: {
        'kubernetes.io/service-account.name': 'robot',
        'kubernetes.io/service-account.uid': given.uid ?? 'u',
      },
    },
    type: given.type ?? type,
  })
  if (given.isMounted === true) {
    const pod: Pod = {
      metadata: { namespace: 'default', name: 'p' },
      spec: { containers: [], volumes: [{ name: 'v', secret: { secretName: 'token' } }] },
    }
    cluster.seed(resources.pods, pod)
  }
  if (since !== null) {
    const name = 'kube-apiserver-legacy-service-account-token-tracking'
    cluster.seed(resources.configMaps, {
      metadata: { namespace: 'kube-system', name },
      data: { since },
    })
  }
}

async function start(): Promise<void> {
  await harness.start(legacyTokenCleaner)
  await harness.step()
}

const token = (): Secret | undefined =>
  harness.cluster.peek<Secret>(harness.resources.secrets, 'default/token')

describe('legacy-serviceaccount-token-cleaner-controller', () => {
  const cases: readonly [title: string, given: Given, fate: 'kept' | 'marked' | 'deleted'][] = [
    ['unused since tracking began it is marked', {}, 'marked'],
    ['last used long ago it is marked', { labels: { [lastUsed]: '2024-12-21' } }, 'marked'],
    ['used within the period it is kept', { labels: { [lastUsed]: '2024-12-22' } }, 'kept'],
    ['a use that cannot be read keeps it', { labels: { [lastUsed]: 'x' } }, 'kept'],
    ['a young one is kept', { created: '2024-12-25T00:00:00Z' }, 'kept'],
    ['marked within the period it is kept', { labels: { [invalidSince]: '2024-12-22' } }, 'kept'],
    ['marked long ago it is deleted', { labels: { [invalidSince]: '2024-12-21' } }, 'deleted'],
    ['a mark that cannot be read is renewed', { labels: { [invalidSince]: 'x' } }, 'marked'],
    ['one that a pod mounts is kept', { isMounted: true }, 'kept'],
    ['one that the account does not list was made by hand', { listed: [] }, 'kept'],
    ['one of an earlier account is not looked at', { uid: 'other' }, 'kept'],
    ['a Secret of another type is not looked at', { type: 'Opaque' }, 'kept'],
    ['tracking that began within the period says nothing yet', { since: '2024-12-22' }, 'kept'],
  ]
  it.each(cases)('%s', async (_, given, fate) => {
    prepare(given)
    await start()
    const found = token()
    const mark = found?.metadata.labels?.[invalidSince]
    const now = found === undefined ? 'deleted' : mark === '2025-01-01' ? 'marked' : 'kept'
    expect(now).toBe(fate)
    expect(harness.cluster.writes.length).toBe(fate === 'kept' ? 0 : 1)
    expect(harness.complaints).toEqual([])
    await harness.step(day / 2)
    expect(harness.cluster.writes.length).toBe(fate === 'kept' ? 0 : 1)
  })

  it.each([
    [null, 'not found'],
    ['yesterday', 'error parsing trackedSince time: yesterday'],
  ])('with the start of tracking at %s it does nothing, and says why', async (since, why) => {
    prepare({ since })
    await start()
    expect(harness.cluster.writes).toEqual([])
    expect(harness.complaints).toEqual([expect.stringContaining(why)])
  })

  it('a marked token that stays unused is deleted after the period', async () => {
    prepare({})
    await start()
    await harness.step(10 * day)
    expect(token()).toBeDefined()
    await harness.step(day)
    expect(token()).toBeUndefined()
  })

  it('one that changes meanwhile is not deleted', async () => {
    prepare({ labels: { [invalidSince]: '2024-12-01' } })
    harness.cluster.react('delete', 'secrets', () => {
      harness.cluster.change(harness.resources.secrets, 'default/token', (secret) => {
        secret.metadata.labels = { [lastUsed]: '2025-01-01' }
      })
    })
    await start()
    expect(token()?.metadata.labels).toEqual({ [lastUsed]: '2025-01-01' })
    expect(harness.complaints).toEqual([])
  })

  it('after a refusal it tries again the next day', async () => {
    prepare({})
    let isBroken = true
    harness.cluster.react('patch', 'secrets', () => {
      if (isBroken) throw harness.clock.random() < 0.5 ? tooManyRequests() : internalError('broken')
    })
    await start()
    expect(harness.complaints).toEqual([expect.stringContaining('legacy token not cleaned up')])
    isBroken = false
    await harness.step(day)
    expect(token()?.metadata.labels).toEqual({ [invalidSince]: '2025-01-02' })
  })
})

import { describe, expect, it } from 'vitest'
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { unattendedKinds } from '../../../components/api/unattended-kinds.ts'
import { controllers } from '../../../components/controller-manager/controllers.ts'
import type { TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { samples, type Sample } from '../../support/one-of-each.ts'
import { describeDialects } from '../../support/shared-server.ts'

const texts = new Set(unattendedKinds.values())

/** The texts of the answer's Warning headers that tell of a missing controller. */
function missingIn(headers: { readonly warning?: string | string[] | undefined }): string[] {
  return [headers.warning ?? []]
    .flat()
    .flatMap((header) => header.split(/, (?=299 )/))
    .map((header) => JSON.parse(header.replace(/^299 - /, '')) as string)
    .filter((text) => texts.has(text))
}

function textOf({ path }: Sample): string | undefined {
  const plural = path.slice(path.lastIndexOf('/') + 1)
  const prefix = [...unattendedKinds.keys()].find((one) => one.endsWith(`/${plural}`))
  return prefix === undefined ? undefined : unattendedKinds.get(prefix)
}

async function eventsAbout(server: TestApiServer, uid: string): Promise<unknown[]> {
  const { items } = await server.ok(
    'GET',
    `/api/v1/events?fieldSelector=involvedObject.uid%3D${uid}`,
  )
  return items.map(({ type, reason, message, source, count }: Record<string, unknown>) => ({
    type,
    reason,
    message,
    source,
    count,
  }))
}

describeDialects('a kind that nothing in the cluster acts on', (server) => {
  it('is created with a warning, and an event about the object says the same', async () => {
    const ns = await server().namespace()
    const told: string[] = []
    for (const sample of samples(server(), ns)) {
      const { path, body } = sample
      const reply = await server().request('POST', path, { body })
      // Two versions of a kind are the same object.
      if (reply.status === 409) continue
      const text = textOf(sample)
      expect([path, ...missingIn(reply.headers)]).toEqual(
        text === undefined ? [path] : [path, text],
      )
      if (text === undefined) continue
      told.push(text)
      const event = {
        type: 'Warning',
        reason: 'NoController',
        message: text,
        source: { component: 'kube-apiserver' },
        count: 1,
      }
      await eventually(async () => {
        expect(await eventsAbout(server(), reply.body.metadata.uid)).toEqual([event])
      })
    }
    const served = new Set(
      resourcesOf(server().dialect).all.flatMap(({ storagePrefix, servedByDefault }) =>
        servedByDefault ? [unattendedKinds.get(storagePrefix)] : [],
      ),
    )
    served.delete(undefined)
    expect(new Set(told)).toEqual(served)
  })

  it('is warned of by a dry run, without an event, and not by later writes', async () => {
    const ns = await server().namespace()
    const apiVersion = `${apiGroup(server().dialect, 'networking')}/v1`
    const path = `/apis/${apiVersion}/namespaces/${ns}/networkpolicies`
    const spec = { podSelector: {} }
    const text = unattendedKinds.get('networking/networkpolicies')
    const dry = await server().request('POST', `${path}?dryRun=All`, {
      body: { metadata: { name: 'dry' }, spec },
    })
    expect(missingIn(dry.headers)).toEqual([text])

    const applied = (name: string, labels: object) =>
      server().request('PATCH', `${path}/${name}?fieldManager=me`, {
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: { apiVersion, kind: 'NetworkPolicy', metadata: { name, labels }, spec },
      })
    expect(missingIn((await applied('real', {})).headers)).toEqual([text])
    expect(missingIn((await applied('real', { a: 'b' })).headers)).toEqual([])
    await eventually(async () => {
      const { items } = await server().ok('GET', `/api/v1/namespaces/${ns}/events`)
      // Whatever the dry run had left would be there before.
      expect(
        items.map(
          ({ involvedObject }: { involvedObject: { name: string } }) => involvedObject.name,
        ),
      ).toEqual(['real'])
    })
  })
})

describe('the list of unattended kinds', () => {
  /** Upstream's controllers of the kinds; kinds without one are left to add-ons. */
  const upstream: Readonly<Record<string, string>> = {
    'apps/daemonsets': 'daemonset-controller',
    'apps/statefulsets': 'statefulset-controller',
    'batch/cronjobs': 'cronjob-controller',
    'batch/jobs': 'job-controller',
    'autoscaling/horizontalpodautoscalers': 'horizontal-pod-autoscaler-controller',
    'core/persistentvolumeclaims': 'persistentvolume-binder-controller',
    'core/persistentvolumes': 'persistentvolume-binder-controller',
    'core/resourcequotas': 'resourcequota-controller',
    'resource/resourceclaims': 'resourceclaim-controller',
    'storagemigration/storageversionmigrations': 'storage-version-migrator-controller',
  }

  it('has an entry for each upstream controller that is missing, and for no other', () => {
    const running = new Set(controllers.map(({ name }) => name))
    const missing = Object.keys(upstream).filter((prefix) => !running.has(upstream[prefix] ?? ''))
    const left = ['networking/ingresses', 'networking/networkpolicies']
    expect([...unattendedKinds.keys()].toSorted()).toEqual([...missing, ...left].toSorted())
  })

  it('names kinds that there are', () => {
    const stored = new Set(
      resourcesOf(dialects.kubernetes).all.map(({ storagePrefix }) => storagePrefix),
    )
    expect([...unattendedKinds.keys()].filter((prefix) => !stored.has(prefix))).toEqual([])
  })
})

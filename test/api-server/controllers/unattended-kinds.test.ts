import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { kindActors, type KindActors } from '../../../components/api/kind-actors.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { unattendedKinds } from '../../../components/api/unattended-kinds.ts'
import { controllers } from '../../../components/controller-manager/controllers.ts'
import { upstreamControllers } from '../../../components/controller-manager/upstream-controllers.ts'
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
    const apiVersion = `${server().group('networking')}/v1`
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

describe('the table of what acts on each kind', () => {
  const running = new Set(controllers.map(({ name }) => name))
  const isActedOn = ({ controllers: names, parts }: KindActors): boolean =>
    parts.length > 0 || names.some((name) => running.has(name))

  it('has a row for each kind that there is, and for no other', () => {
    const kinds = new Set(
      resourcesOf(dialects.kubernetes).all.map(({ storagePrefix }) => storagePrefix),
    )
    expect([...kindActors.keys()].toSorted()).toEqual([...kinds].toSorted())
  })

  it('says of each kind what acts on it, whose it is, or what is missing', () => {
    const silent = [...kindActors]
      .filter(([, row]) => !isActedOn(row))
      .filter(([, { missing, storedOnly }]) => (missing ?? storedOnly ?? '') === '')
    expect(silent.map(([prefix]) => prefix)).toEqual([])
  })

  it('warns of no kind that something acts on: remove `missing` with the change that adds the controller', () => {
    const wrong = [...kindActors].filter(
      ([, row]) => row.missing !== undefined && (isActedOn(row) || row.storedOnly !== undefined),
    )
    expect(wrong.map(([prefix]) => prefix)).toEqual([])
  })

  // Upstream's provisioners are programs of their own.
  const ownController = 'simulated-provisioner-controller'

  it('names controllers of upstream and the provisioner alone, and every one that runs', () => {
    const named = new Set([...kindActors.values()].flatMap((row) => row.controllers))
    const upstream = new Set(upstreamControllers.map(({ name }) => name))
    expect([...named].filter((name) => !upstream.has(name))).toEqual([ownController])
    // It acts on every kind.
    const general = ['garbage-collector-controller']
    expect([...running].filter((name) => !named.has(name))).toEqual(general)
  })
})

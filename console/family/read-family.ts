/** Reads the family of an object, or of all objects in a namespace: metadata of all kinds, then the state of what is shown. */
import { readObject } from '../../cluster/why/explain-object.ts'
import { findResource } from '../../cluster/why/named-resource.ts'
import { readKinds } from '../../cluster/why/read-contents.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import type { Client } from '../../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import { nearestName } from '../../components/component-base/flags.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { byName, descendantsOf, growFamily, indexByOwner, objectsIn, rootsOf } from './family.ts'
import type { Member } from './family.ts'
import { readWhole } from './read-whole.ts'

/** Objects of one kind: 40 pages. */
const pageSize = 500
const mostPages = 40
/** Objects that a tree shows. */
const mostMembers = 5000
/** Owners above an object. */
const mostAncestors = 50

export interface AskedFamily {
  readonly kind: string
  readonly name: string
  /** Not used for kinds without namespaces. */
  readonly namespace: string
  /** Begins with the owners of the object, and what owns these. */
  readonly up: boolean
}

export interface Family {
  readonly roots: readonly Member[]
  /** The uid of the object that was asked for. */
  readonly askedUid?: string
  /** One line for each thing that could not be read, or that a limit left out. */
  readonly notRead: readonly string[]
}

/** Throws a ClusterError of kind `usage` for a word that the server does not know. */
export function askedResource(resources: ServerResources, word: string): Resource {
  const found = findResource(resources, word)
  if (found !== undefined) return found
  const names = resources.preferred.flatMap(({ plural, singular }) => [plural, singular])
  const nearest = nearestName(word.toLowerCase(), names)
  throw new ClusterError('usage', `the server has no kind "${word}"`, {
    hint: nearest === undefined ? 'see: kubectl api-resources' : `did you mean ${nearest}?`,
  })
}

const hasUid = ({ metadata }: KubeObject): boolean => (metadata.uid ?? '') !== ''

/** Metrics and the like have no uid: they are answers, not objects. */
async function readAll(client: Client, resources: ServerResources, namespace: string) {
  return await readKinds(client, resources, {
    namespace,
    limit: pageSize,
    pages: mostPages,
    keeps: hasUid,
    isAsked: ({ namespaced }) => namespaced || namespace === '',
  })
}

/** What owns the object, and what owns that, by single reads. An owner that is gone, or has another uid now, is noted. */
async function readAncestors(client: Client, { all }: ServerResources, object: KubeObject) {
  const found = new Map<string, KubeObject>()
  const notRead: string[] = []
  const pending = [object]
  for (let one = pending.shift(); one !== undefined; one = pending.shift()) {
    for (const { apiVersion, kind, name, uid } of one.metadata.ownerReferences ?? []) {
      if (found.has(uid)) continue
      const what = `the owner ${kind} ${name}`
      if (found.size === mostAncestors) {
        notRead.push(`${what}: only the first ${mostAncestors} owners were read`)
        return { objects: [...found.values()], notRead }
      }
      const resource = all.find((each) => each.kind === kind && apiVersionOf(each) === apiVersion)
      try {
        if (resource === undefined) throw new Error('the server does not have the kind')
        const namespace = resource.namespaced ? object.metadata.namespace : undefined
        const owner = await client.resource(resource).get({ namespace, name })
        if (owner.metadata.uid !== uid) throw new Error('another object has that name now')
        const typed = { ...owner, apiVersion, kind }
        found.set(uid, typed)
        pending.push(typed)
      } catch (error) {
        const isGone = isStatusError(error, 'NotFound')
        notRead.push(`${what}: ${isGone ? 'it does not exist' : messageOf(error)}`)
      }
    }
  }
  return { objects: [...found.values()], notRead }
}

async function withStates(
  client: Client,
  resources: ServerResources,
  of: {
    readonly roots: readonly KubeObject[]
    readonly objects: readonly KubeObject[]
    readonly notRead: readonly string[]
  },
): Promise<Pick<Family, 'roots' | 'notRead'>> {
  const { roots, isWhole } = growFamily(of.roots, of.objects, mostMembers)
  const cut = isWhole ? [] : [`only the first ${mostMembers} objects of the tree are shown`]
  const whole = await readWhole(client, resources, objectsIn(roots))
  const fill = (member: Member): Member => ({
    ...member,
    object: whole.byUid.get(member.object.metadata.uid ?? '') ?? member.object,
    owns: member.owns.map(fill),
  })
  return {
    roots: roots.map(fill),
    notRead: [...new Set([...of.notRead, ...cut, ...whole.notRead])],
  }
}

/** Rejects with a ClusterError for an unknown kind (`usage`) and for an object that is not there (`not-found`). */
export async function readFamily(client: Client, asked: AskedFamily): Promise<Family> {
  const resources = await createDiscovery(client)()
  const resource = askedResource(resources, asked.kind)
  const object = await readObject(client, resource, asked)
  const [ancestors, all] = await Promise.all([
    asked.up ? readAncestors(client, resources, object) : { objects: [], notRead: [] },
    // What an object in a namespace owns is in the same one.
    readAll(client, resources, object.metadata.namespace ?? ''),
  ])
  const below = descendantsOf(object, indexByOwner(all.objects))
  const byUid = new Map([...ancestors.objects, ...below].map((one) => [one.metadata.uid, one]))
  const objects = [...byUid.values()]
  const roots = asked.up ? rootsOf(objects) : [object]
  const notRead = [...ancestors.notRead, ...all.notRead]
  const family = await withStates(client, resources, { roots, objects, notRead })
  return { ...family, askedUid: object.metadata.uid ?? '' }
}

/** All objects of a namespace, below those that nothing in it owns. */
export async function readNamespaceFamily(client: Client, namespace: string): Promise<Family> {
  const resources = await createDiscovery(client)()
  const { objects, notRead } = await readAll(client, resources, namespace)
  // Two groups may serve the same objects.
  const byUid = new Map(objects.toSorted(byName).map((one) => [one.metadata.uid, one]))
  const once = [...byUid.values()]
  return await withStates(client, resources, { roots: rootsOf(once), objects: once, notRead })
}

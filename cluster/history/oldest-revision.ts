/** oldest-revision: how far back a server can show a resource: the oldest revision that it answers an exact list of. */
import type { ResourceClient } from '../../components/client/resource-client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'

/** The first look back; each further one is four times as far. */
const firstStep = 64

/** One object, as a selection of lists and watches. */
export interface OneObject {
  readonly namespace?: string
  readonly fieldSelector: string
}

/** The object at exactly that revision; undefined when it did not exist, `gone` when the server has forgotten. */
export async function objectAt(
  objects: ResourceClient,
  one: OneObject,
  revision: number,
): Promise<KubeObject | 'gone' | undefined> {
  try {
    const list = await objects.list({
      ...one,
      resourceVersion: String(revision),
      resourceVersionMatch: 'Exact',
      limit: 1,
    })
    return list.items[0]
  } catch (error) {
    if (isStatusError(error, 'Expired', 'Gone')) return 'gone'
    throw error
  }
}

/** The oldest revision up to `newest`, which the server must know. Asks about twice as often as its distance has binary digits. */
export async function oldestRevision(
  objects: ResourceClient,
  one: OneObject,
  newest: number,
): Promise<number> {
  const isKnown = async (revision: number): Promise<boolean> =>
    (await objectAt(objects, one, revision)) !== 'gone'
  let known = newest
  let forgotten = 0
  for (let step = firstStep; known > 1; step *= 4) {
    const earlier = Math.max(1, newest - step)
    if (!(await isKnown(earlier))) {
      forgotten = earlier
      break
    }
    known = earlier
  }
  while (known - forgotten > 1) {
    const middle = Math.floor((known + forgotten) / 2)
    if (await isKnown(middle)) known = middle
    else forgotten = middle
  }
  return known
}

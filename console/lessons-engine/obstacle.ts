/** Obstacle: why a lesson that may use a running cluster cannot use this one. */
import type { LessonPlace } from './lesson-place.ts'
import type { Lesson } from './lesson.ts'
import { presentObjects } from './made-objects.ts'

export interface Obstacle {
  readonly kind: 'dialect' | 'nodes' | 'present'
  readonly message: string
  /** Of `present`: the objects, as `Deployment default/web`. */
  readonly details?: readonly string[]
}

/** The first obstacle; undefined when the lesson can begin. Rejects when the viewer may not look. */
export async function obstacleOf(
  lesson: Lesson,
  place: LessonPlace,
): Promise<Obstacle | undefined> {
  const { nodes = 0, dialect = 'kubernetes' } = lesson.cluster
  if (place.client.dialect.name !== dialect) {
    return { kind: 'dialect', message: `the lesson needs a cluster of dialect ${dialect}` }
  }
  if (nodes > 0) {
    const { items } = await place.client.resource(place.resources.nodes).list({})
    if (items.length < nodes) {
      const message = `the lesson needs ${nodes} nodes, the cluster has ${items.length}`
      return { kind: 'nodes', message }
    }
  }
  const present = await presentObjects(lesson.makes, place)
  if (present.length === 0) return undefined
  return {
    kind: 'present',
    message: `the lesson makes objects that exist in cluster "${String(place.variables['cluster'])}"`,
    details: present,
  }
}

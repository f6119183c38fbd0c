/** A profile that counts how often each plugin is asked (upstream: framework/runtime, instrumented_plugins.go). */
import type { Counter } from '../component-base/metrics.ts'
import type { Profile } from './profile.ts'

/** The extension points whose plugins are counted. */
export type CountedPoint = 'PreFilter' | 'Filter' | 'PreScore' | 'Score'

/**
 * The profile with counters around its plugins. PreFilter and PreScore count the pods that the plugin has something to say about, Filter
 * and Score the nodes that it is asked about.
 */
export function countedProfile(
  profile: Profile,
  counterOf: (plugin: string, point: CountedPoint) => Counter,
): Profile {
  return {
    ...profile,
    filters: profile.filters.map((plugin) => {
      const { name } = plugin
      const [preFilters, filters] = [counterOf(name, 'PreFilter'), counterOf(name, 'Filter')]
      return {
        name,
        filter: (pod, view) => {
          const outcome = plugin.filter(pod, view)
          if (outcome === undefined) return undefined
          preFilters.inc()
          if (typeof outcome !== 'function') return outcome
          return (node) => {
            filters.inc()
            return outcome(node)
          }
        },
      }
    }),
    scores: profile.scores.map(({ plugin, weight }) => {
      const { name } = plugin
      const [preScores, scores] = [counterOf(name, 'PreScore'), counterOf(name, 'Score')]
      const score: typeof plugin.score = (pod, nodes, view) => {
        const found = plugin.score(pod, nodes, view)
        if (found === undefined) return undefined
        preScores.inc()
        scores.inc(nodes.length)
        return found
      }
      return { weight, plugin: { name, score } }
    }),
  }
}

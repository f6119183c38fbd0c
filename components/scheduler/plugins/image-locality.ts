/**
 * ImageLocality: nodes that have the pod's images already score by the images' size, scaled down for images that few nodes have,
 * so that pods do not pile up on them (upstream: plugins/imagelocality).
 */
import type { Container } from '../../api/generated/types.ts'
import type { PluginWith } from '../plugin.ts'
import { scoreEach } from '../plugin.ts'

const megabyte = 1024 * 1024
const smallest = 23 * megabyte
const largestPerContainer = 1000 * megabyte

/** As nodes list images: with the tag `latest` where the pod names none. */
function normalizedName(image: string): string {
  return image.lastIndexOf(':') > image.lastIndexOf('/') ? image : `${image}:latest`
}

export const imageLocality: PluginWith<'score'> = {
  name: 'ImageLocality',
  score({ pod }, nodes, view) {
    const containers: readonly Container[] = [
      ...(pod.spec?.initContainers ?? []),
      ...(pod.spec?.containers ?? []),
    ]
    const images = containers.flatMap(({ image }) => {
      const name = normalizedName(image ?? '')
      const spread = view.nodesWithImage(name)
      return spread === 0 ? [] : [{ name, share: spread / view.nodes.length }]
    })
    if (images.length === 0) return undefined
    const largest = largestPerContainer * containers.length
    return scoreEach(nodes, (node) => {
      let sum = 0
      for (const { name, share } of images) sum += Math.trunc((node.images.get(name) ?? 0) * share)
      const within = Math.min(Math.max(sum, smallest), largest)
      return Math.trunc((100 * (within - smallest)) / (largest - smallest))
    })
  },
}

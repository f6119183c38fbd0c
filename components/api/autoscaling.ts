/** The autoscaling group: v2 is preferred and stored, v1 is a smaller form of the same objects. */
import { groupTable, since, status } from './group-table.ts'

const autoscaler = {
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  subresources: [status],
}

export const autoscaling = groupTable({
  stem: 'autoscaling',
  package: 'autoscaling',
  priority: 17_500,
  versions: { v2: 30, v1: 15 },
  kinds: {
    horizontalPodAutoscalers: { ...autoscaler, version: 'v2', lifecycle: since('1.23') },
    horizontalPodAutoscalersV1: {
      ...autoscaler,
      version: 'v1',
      storedAs: 'autoscaling/v2',
      lifecycle: since('1.2'),
    },
  },
})

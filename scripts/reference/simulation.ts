/** The page of the annotations by which pods and nodes are simulated. */
import { simulationAnnotations } from '../../components/api/simulation.ts'
import { code, escaped, page, table } from './markdown.ts'

function annotationsOf(bearer: string): string {
  return table(
    ['annotation', 'value', 'effect'],
    simulationAnnotations
      .filter((one) => one.bearer === bearer)
      .map(({ key, values, effect }) => [code(key), escaped(values), escaped(effect)]),
  )
}

export function simulationPage(): string {
  return page(
    'Simulation annotations',
    'A simulated node runs no images, and simulated volumes hold no data. These annotations make pods, nodes and volumes behave as you need; ' +
      '[what simulated pods do](../simulation.md) explains them with examples.',
    '## On pods',
    'They apply to all containers of the pod. With `.CONTAINER` appended, such as `skiff.dev/exit-after.web`, they apply to ' +
      'that container alone.',
    annotationsOf('Pod'),
    '## On nodes',
    annotationsOf('Node'),
    '## On claims',
    'They take effect on claims of classes with the provisioner `skiff.dev/simulated`. A parameter of the class, such as ' +
      '`provision: fail`, does the same for all claims of the class that have no annotation.',
    annotationsOf('PersistentVolumeClaim'),
    '## On volumes',
    annotationsOf('PersistentVolume'),
    'The API server warns about an annotation that is unknown, has an invalid value or is on the wrong kind of object, and ' +
      'the node agent ignores it.',
  )
}

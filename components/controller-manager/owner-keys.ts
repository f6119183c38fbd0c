/** Which owners an object concerns: the one that it names, or all that would adopt it. */
import type { Informer } from '../client/informer.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { controllerOf, keyOf } from '../machinery/objects/object.ts'
import { apiVersionOf } from '../machinery/objects/resource.ts'
import type { LabelSelector, LabelSelectorObject } from '../machinery/selectors/label-selector.ts'
import {
  labelSelectorFrom,
  matchesLabels,
  selectNothing,
} from '../machinery/selectors/label-selector.ts'

/** The server validates selectors; one that slipped through selects nothing. */
export function selectorOrNothing(selector: LabelSelectorObject | undefined): LabelSelector {
  try {
    return labelSelectorFrom(selector)
  } catch {
    return selectNothing
  }
}

/** Keys of the owners that an object concerns. */
export function ownerKeys<O extends KubeObject>(
  owners: Informer<O>,
  selectorOf: (owner: O) => LabelSelector,
): (object: KubeObject) => string[] {
  const { resource } = owners
  return (object) => {
    const controller = controllerOf(object)
    const { namespace = '', labels } = object.metadata
    if (controller !== undefined) {
      const isOurs =
        controller.kind === resource.kind && controller.apiVersion === apiVersionOf(resource)
      return isOurs ? [`${namespace}/${controller.name}`] : []
    }
    return owners
      .list()
      .filter((owner) => owner.metadata.namespace === namespace)
      .filter((owner) => matchesLabels(selectorOf(owner), labels))
      .map(keyOf)
  }
}

/** Faults: breaking a running cluster on purpose. The supervisor does it, so it knows what is no accident. */
import type { ControlClient } from './control-client.ts'

export interface Faults {
  /** SIGKILL: the process has no time for a last word. The supervisor starts it again at once. */
  kill(component: string): Promise<void>
  /** SIGSTOP: the process is there, its connections stay open, and it does nothing. */
  pause(component: string): Promise<void>
  resume(component: string): Promise<void>
  /** Pauses the component while `work` runs, and resumes it whatever comes of that. */
  whilePaused<T>(component: string, work: () => Promise<T>): Promise<T>
}

export function createFaults(control: ControlClient): Faults {
  const pause = async (name: string): Promise<void> => void (await control.call('pause', { name }))
  const resume = async (name: string): Promise<void> =>
    void (await control.call('resume', { name }))
  return {
    kill: async (name) => void (await control.call('kill', { name })),
    pause,
    resume,
    whilePaused: async (name, work) => {
      await pause(name)
      try {
        return await work()
      } finally {
        await resume(name)
      }
    },
  }
}

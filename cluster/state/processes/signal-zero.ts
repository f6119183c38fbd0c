/** Signal 0: whether a process or a group is there, which every system answers. */

/** `target`: a pid, or minus the number of a process group. Processes of other users count. */
export function isThere(target: number): boolean {
  try {
    return process.kill(target, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
